"""Plans for people: as a table in the terminal, and as a picture (SVG, PNG, HTML) from one layout."""
