"""The mark that a video was made by a model, in the words of IPTC, for every program that looks for it.

An mp4 carries it as XMP, in the box that is reserved for that, and as a tag; other kinds as a tag alone.
"""

from __future__ import annotations

from pathlib import Path

DIGITAL_SOURCE_TYPE = "digitalSourceType"
MADE_BY_A_MODEL = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
XMP_BOX = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")  # of ISO 16684-1

_PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">
   <xmp:CreatorTool>PhysPlan {version}</xmp:CreatorTool>
   <Iptc4xmpExt:DigitalSourceType>{source_type}</Iptc4xmpExt:DigitalSourceType>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>"""


def xmp_packet(version: str) -> bytes:
    return _PACKET.format(version=version, source_type=MADE_BY_A_MODEL).encode()


def xmp_box(packet: bytes) -> bytes:
    """A box at the top of an mp4: its length, `uuid`, which one, and the packet."""
    return (24 + len(packet)).to_bytes(4, "big") + b"uuid" + XMP_BOX + packet


def add_xmp(path: Path, packet: bytes) -> None:
    """At the end of an mp4: nothing in the file points behind it, so nothing moves."""
    with path.open("ab") as file:
        file.write(xmp_box(packet))
