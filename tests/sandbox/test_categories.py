from physplan_sandbox.world.categories import CATEGORIES
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.scene import DISTRACTORS


def test_every_sprite_of_every_outcome_has_a_category() -> None:
    for name, phenomenon in PHENOMENA.items():
        for variant, outcomes in phenomenon.variants.items():
            world = scene("validation", 0, phenomenon=name, variant=variant)
            shown = {sprite.category for outcome in outcomes for sprite in world.sprites(outcome)}
            assert shown <= set(CATEGORIES), (name, variant, shown - set(CATEGORIES))


def test_every_thing_and_distractor_has_a_category_and_none_is_listed_twice() -> None:
    things = {
        thing.category
        for name, phenomenon in PHENOMENA.items()
        for variant in phenomenon.variants
        for thing in scene("validation", 0, phenomenon=name, variant=variant).things.values()
    }
    assert things | set(DISTRACTORS) <= set(CATEGORIES)
    assert len(set(CATEGORIES)) == len(CATEGORIES)
    assert CATEGORIES[:2] == ("wall", "table")
