"""MobileSAM: masks from boxes and clicks."""
