"""The sentences that `benchmarks.photo` lets happen: photographs by name, objects by name, box or click."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """`photo` is a file's stem; `objects` are as `physplan photo --object` reads them."""

    photo: str
    prompt: str
    objects: tuple[str, ...] = ()
    contact: bool = False  # two or more bodies that touch

    @property
    def name(self) -> str:
        return "-".join([self.photo, *self.prompt.split()])


CUP, SAUCER, SPOON = "cup:172,10,405,262", "saucer:70,50,480,392", "spoon:300,60,432,330"
ROCKET = "rocket@320,240@322,150"
LEFT_EYE, RIGHT_EYE = "left eye:136,83,208,147", "right eye:294,104,347,165"
SHUTTLE = "shuttle:358,0,462,284"
BIRD = "bird:700,1240,1880,1870"
BOWL, FIG = "bowl:570,210,2560,1720", "fig:1050,610,1800,1310"
RED, ORANGE = "red candy:257,187,314,242", "orange candy:178,183,233,238"
UPPER, LOWER = "upper gear:328,44,392,108", "lower gear:336,106,400,172"
LID, LIGHTER = "white lid:337,127,453,246", "lighter:313,312,360,460"
LIGHTS = ("left light:0,170,145,262", "right light:435,170,585,262")
GREEN, BLUE = "green candy:238,88,298,148", "blue candy:348,52,407,112"

SENTENCES = (
    Sentence("rocket", "the rocket rises", (ROCKET,)),
    Sentence("rocket", "the rocket tips over", (ROCKET,)),
    Sentence("coffee", "the cup steams", (CUP,)),
    Sentence("coffee", "the saucer slides to the left", (CUP, SAUCER, SPOON), contact=True),
    Sentence("chelsea", "the left eye turns blue and the right eye turns blue", (LEFT_EYE, RIGHT_EYE)),
    Sentence("astronaut", "the shuttle blasts off", (SHUTTLE,)),
    Sentence("free_by_Peter_Nerlich", "the bird flies off to the left", (BIRD,)),
    Sentence("free_by_Peter_Nerlich", "the bird swings", (BIRD,)),
    Sentence("Picture_0B_by_freespace", "the bowl slides to the left", (BOWL, FIG), contact=True),
    Sentence("Picture_0B_by_freespace", "the fig shakes", (BOWL, FIG), contact=True),
    Sentence("LadyBird", "the ladybird flies off to the right", ("ladybird:1660,700,1920,960",)),
    Sentence("smarties", "the orange candy rolls to the red candy", (RED, ORANGE), contact=True),
    Sentence("smarties", "the blue candy rolls off to the right", ("blue candy:263,288,326,352",)),
    Sentence("smarties", "the green candy grows and bursts", ("green candy:240,90,296,148",)),
    Sentence("citrus-fruits", "the orange spins", ("orange:544,490,910,855",)),
    Sentence("citrus-fruits", "the lime turns red", ("lime:618,248,868,495",)),
    Sentence("flower", "the flower turns purple", ("flower:168,85,445,358",)),
    Sentence("stuff", "the white lid slides to the lighter", (LID, LIGHTER), contact=True),
    Sentence("stuff", "the pencil spins", ("pencil:55,90,340,255",)),
    Sentence("licenseplate_motion", "the left light goes out and the right light goes out", LIGHTS),
    Sentence(
        "wool_mill_machine", "the upper gear spins and the lower gear spins", (UPPER, LOWER), contact=True
    ),
    Sentence("lighthouse", "the lighthouse freezes over", ("lighthouse:60,80,600,958",)),
    Sentence("castle-maintenon", "the castle catches fire", ("castle:10,70,900,640",)),
    Sentence("smarties", "the green candy rolls to the blue candy", (GREEN, BLUE), contact=True),
)
