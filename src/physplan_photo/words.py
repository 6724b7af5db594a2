"""The detector's 80 classes (COCO) and the everyday words for them."""

from __future__ import annotations

import re

CLASSES: tuple[str, ...] = tuple(
    """person;bicycle;car;motorcycle;airplane;bus;train;truck;boat;traffic light;fire hydrant;stop sign;
    parking meter;bench;bird;cat;dog;horse;sheep;cow;elephant;bear;zebra;giraffe;backpack;umbrella;handbag;
    tie;suitcase;frisbee;skis;snowboard;sports ball;kite;baseball bat;baseball glove;skateboard;surfboard;
    tennis racket;bottle;wine glass;cup;fork;knife;spoon;bowl;banana;apple;sandwich;orange;broccoli;carrot;
    hot dog;pizza;donut;cake;chair;couch;potted plant;bed;dining table;toilet;tv;laptop;mouse;remote;keyboard;
    cell phone;microwave;oven;toaster;sink;refrigerator;book;clock;vase;scissors;teddy bear;hair drier;
    toothbrush""".replace("\n    ", "").split(";")
)
# Class -> its synonyms. A word may stand for several classes, the likeliest first by the detector's score.
_SYNONYMS = {
    "person": "man woman lady girl boy child kid baby toddler guy human people astronaut player dancer "
    "skater surfer rider worker walker runner pedestrian passenger driver swimmer lad gentleman officer",
    "bicycle": "bike cycle pushbike",
    "car": "automobile sedan taxi cab auto van hatchback convertible vehicle jeep",
    "motorcycle": "motorbike motor-bike scooter moped",
    "airplane": "plane aeroplane aircraft jet airliner",
    "bus": "coach minibus",
    "train": "locomotive tram railcar engine wagon",
    "truck": "lorry pickup van vehicle jeep",
    "boat": "ship sailboat rowboat canoe kayak yacht ferry dinghy",
    "traffic light": "stoplight traffic-light",
    "fire hydrant": "hydrant",
    "bench": "park-bench",
    "bird": "duck goose swan gull seagull pigeon parrot owl chicken hen rooster robin sparrow crow eagle "
    "penguin",
    "cat": "kitten kitty tomcat puss",
    "dog": "puppy pup hound corgi terrier poodle doggy retriever",
    "horse": "pony foal mare stallion",
    "sheep": "lamb ram ewe",
    "cow": "bull calf ox cattle",
    "bear": "grizzly panda",
    "backpack": "rucksack knapsack",
    "umbrella": "parasol brolly",
    "handbag": "purse bag",
    "tie": "necktie",
    "suitcase": "luggage trunk case bag",
    "skis": "ski",
    "sports ball": "ball football soccer-ball basketball baseball volleyball golf-ball tennis-ball",
    "kite": "paraglider parachute",
    "tennis racket": "racket racquet",
    "bottle": "flask",
    "wine glass": "glass goblet wineglass chalice",
    "cup": "mug teacup coffee coffee-cup tumbler glass beaker",
    "bowl": "dish basin",
    "orange": "mandarin tangerine",
    "sandwich": "burger hamburger",
    "hot dog": "hotdog",
    "donut": "doughnut",
    "cake": "pie tart cupcake",
    "chair": "armchair stool seat",
    "couch": "sofa settee",
    "potted plant": "plant houseplant flowerpot pot flower",
    "dining table": "table desk",
    "tv": "telly television monitor screen",
    "laptop": "notebook computer",
    "mouse": "computer-mouse",
    "remote": "remote-control",
    "cell phone": "phone mobile smartphone cellphone",
    "refrigerator": "fridge freezer",
    "book": "novel magazine",
    "clock": "watch",
    "vase": "jug pitcher urn",
    "teddy bear": "teddy",
    "hair drier": "hairdryer",
}


def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [name] for name in CLASSES}
    for name, words in _SYNONYMS.items():
        for word in words.split():
            found.setdefault(word.replace("-", " "), []).append(name)
    return {word: tuple(names) for word, names in found.items()}


WORDS = _table()
_IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "mice": "mouse",
    "geese": "goose",
}
_PLACES = {
    "left": "left",
    "leftmost": "left",
    "right": "right",
    "rightmost": "right",
    "top": "top",
    "upper": "top",
    "bottom": "bottom",
    "lower": "bottom",
    "middle": "middle",
    "central": "middle",
    "first": "left",
    "last": "right",
    "largest": "largest",
    "biggest": "largest",
    "big": "largest",
    "large": "largest",
    "nearest": "largest",
    "front": "largest",
    "smallest": "smallest",
    "small": "smallest",
    "little": "smallest",
    "second": "second",
    "third": "third",
}


def singular(word: str) -> str:
    """One of many, "kittens" -> "kitten": as far as the classes need it."""
    word = _IRREGULAR.get(word, word)
    if word in WORDS or not word.endswith("s"):
        return word
    options = (word[:-1], word[:-2], word[:-3] + "y", word[:-3] + "fe")
    return next((option for option in options if option in WORDS), word)


def classes_of(name: str) -> tuple[str, ...]:
    """The classes that a noun phrase may mean, by its longest known ending; () where it is none.

    "the big red fire hydrant" is a fire hydrant, "coffee cup" a cup, "cup of tea" a cup.
    """
    words = re.findall(r"[a-z]+", name.lower())
    if "of" in words:
        words = words[: words.index("of")]
    words = [word for word in words if word not in ("one", "ones")]
    for start in range(len(words)):
        phrase = " ".join([*words[start:-1], singular(words[-1])])
        if phrase in WORDS:
            return WORDS[phrase]
    return ()


def place_of(name: str) -> str:
    """Which of several is meant: left, right, top, bottom, middle, largest, smallest, second, third or ""."""
    return next((_PLACES[word] for word in re.findall(r"[a-z]+", name.lower()) if word in _PLACES), "")
