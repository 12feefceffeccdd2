"""Incidents and notes with the answer whether the note speaks: what an adapter is taught (long: tables of words).

Notes are made of the rows below and of the places of config/words.toml; the answer follows from the rows a note was
made of, never from reading it. A fifth of the places and of the people is kept for the test and in no lesson.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from models.asking.prompts import format_sight

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Half: TypeAlias = Literal["train", "test"]

_WORDS = Path(__file__).parents[1] / "config/words.toml"
_TEST_SHARE = 5  # one of so many


class Lesson(NamedTuple):
    """An incident beside the notes of its site.

    Attributes:
        incident: As a prompt has it.
        notes: Sentences.
        speaks: For each, 1: it speaks about the incident, 0: it does not.
    """

    incident: str
    notes: tuple[str, ...]
    speaks: tuple[int, ...]


class Who(NamedTuple):
    """Whom a note may be about.

    Attributes:
        words: Plural, or with an article.
        classes: What a detector calls them.
        tags: What they are seen with.
        does: What they do, behind the words.
        names: They are named rather than anybody of their kind.
    """

    words: tuple[str, ...]
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    does: tuple[str, ...]
    names: bool = True


class Place(NamedTuple):
    """A place of the word table, perhaps on one side: ("main", "rear") never means the other."""

    key: str
    side: str


class Note(NamedTuple):
    """A note, and what it was made of. No place: it holds everywhere."""

    text: str
    who: Who
    place: Place | None
    allows: bool


class Sight(NamedTuple):
    """What a camera saw. `of`: the row of the table it was drawn from."""

    class_: str
    tags: tuple[str, ...]
    place: Place
    of: Who | None


def _rows(text: str, class_: str) -> tuple[Who, ...]:
    found = []
    for line in text.strip().splitlines():
        words, tags, does = (part.strip() for part in line.split("|"))
        found.append(
            Who(
                tuple(words.split("; ")),
                (class_,),
                tuple(filter(None, tags.split("; "))),
                tuple(filter(None, does.split("; "))),
            )
        )
    return tuple(found)


_PEOPLE = _rows(
    """
guards; night watchmen; security officers | uniform; torch; radio | walk past; make their round; check the locks
cleaners; the cleaning ladies; housekeeping | mop; bucket; vacuum cleaner | clean; wipe the floor; are busy
window cleaners; the window washers | bucket; ladder; squeegee | wash the panes; work
couriers; parcel people; delivery riders | parcel; backpack | drop parcels; hand over packages; come
the postman; the letter carrier; mail carriers | letters; bag | brings the letters; comes by
caretakers; the house technician; custodians | keys; tool bag; overalls | does the rounds; looks after things
painters; decorators | ladder; paint bucket; overalls | paint; work; varnish the doors
roofers; the tilers; thatchers | ladder; helmet; tiles | work; mend the tiles
electricians; the wiring people | helmet; tool box; cable | do the wiring; repair the lamps
plumbers; the heating engineers; pipe fitters | pipe wrench; tool box | check the pipes; mend the pump
the lift engineer; service technicians; the fitter | tool box; overalls | does maintenance; repairs the machine
scaffolders; bricklayers; builders | helmet; vest; trowel | build; put up the scaffold; work
surveyors; the measuring team | tripod; vest | measure; take levels
inspectors; auditors; the examiner | clipboard; vest | come for the inspection; look around
gardeners; landscapers; the lawn people | rake; wheelbarrow; hedge trimmer | cut the hedge; mow; plant
fruit pickers; seasonal workers; the harvest gang | baskets; straw hat | pick; bring in the harvest
shepherds; herdsmen; stable hands | staff; dog | look after the animals; feed the animals
beekeepers; the honey people | veil; smoker | look after the hives; work
foresters; lumberjacks; tree surgeons | chainsaw; helmet | fell trees; clear branches
hunters; the shooting party | rifle; dog; rifles | cross; sit in the hide
anglers; people who fish | rod; bucket | fish; sit
joggers; runners; walkers | sports wear | run past; pass; train
the football team; the athletics club; gymnasts | balls; sports wear; mat | trains; has its practice
the choir; musicians; the brass band | instruments; guitar | rehearse; carry their instruments
students; apprentices; trainees | bags; school bag | meet; have their break; sit about
parents; mothers and fathers | pram | wait for their children; say goodbye
teachers; educators; tutors | bag; books | supervise; have a smoke
nurses; carers; ward staff | white coat; scrubs | take a break; change shifts
paramedics; the ambulance crew | stretcher; uniform | bring people in; wait
patients; residents; old people | walking frame; wheelchair | sit; take the air; walk about
visitors; guests; callers | bag | may look around; wait; come and go
tourists; sightseers; day trippers | camera; map | take pictures; stroll
customers; shoppers; clients | shopping bag; trolley | wait; look at the goods; queue
hikers; campers; ramblers | backpack; tent | rest; put up tents
passengers; commuters; travellers | suitcase; luggage | wait; get on
neighbours; the people next door; the family from over the road |  | pass through; take the short cut
the owner; the landlord; my brother; my wife; the boss |  | comes by; looks in; works late
lorry drivers; hauliers; chauffeurs | papers | rest; wait for papers
refuse collectors; the bin men | bins; vest | empty the bins; pull out the bins
smokers; people with a cigarette | cigarette; smoking | stand; have a smoke
volunteers; scouts; helpers | vest; bin bags | tidy up; help out
skateboarders; skaters | skateboard | skate; practise
market traders; stallholders; sellers | stall; boxes | set up; sell
sailors; deckhands; the boat crew | life jacket; rope | go ashore; tie up
priests; the sexton; monks | robe; candles | open up; pray
actors; stagehands; artists | props; costume | rehearse; carry the scenery
cooks; kitchen staff; the chef; bakers | apron; trays; crates | carry out the waste; fetch supplies
waiters; bar staff | apron; tray | serve; clear the tables
stocktakers; warehouse hands; packers | helmet; vest; trolley | count the stock; pack; pick orders
dockers; crane hands; stevedores | helmet; vest | lash containers; unload
meter readers; the water board | clipboard; vest | read the meters; take samples
fire fighters; the fire brigade | helmet; hose | train; check the hydrants
removal men; furniture carriers | boxes; trolley | carry furniture; load
the photographer; film people | camera; tripod | take pictures; film
lifeguards; swimming teachers | whistle; towel | watch; give lessons
bell ringers; wedding guests; mourners | flowers; black clothes | gather; come together
lab staff; chemists; researchers | white coat; goggles | take samples; work at night
programmers; office workers; clerks | laptop; bag | work late; have lunch
the night shift; production workers; machine operators | helmet; overalls; vest | change over; work; take a break
divers; the hull inspectors | wetsuit; oxygen bottle | dive; check the hull
cable layers; road menders; the paving gang | vest; shovel; cones | dig; lay cables; mend the surface
""",
    "person",
)
# fmt: off
_THINGS = tuple(
    Who(tuple(words.split("; ")), tuple(classes.split("; ")), tuple(filter(None, tags.split("; "))), tuple(does.split("; ")))
    for words, classes, tags, does in (
        ("cars; passenger cars; private cars; saloons", "car", "", "park; wait; are left; stop"),
        ("taxis; cabs", "car", "taxi sign", "wait for guests; stop; pick people up"),
        ("lorries; trucks; heavy goods vehicles; tippers", "truck", "trailer", "wait; unload; stand; turn; load"),
        ("tankers; the milk lorry; the fuel lorry", "truck", "tank", "fills up; comes; stops"),
        ("dustcarts; the bin lorry; refuse trucks", "truck", "orange light; bins", "collect the bins; come round"),
        ("gravel lorries; tipper trucks", "truck", "gravel", "load; tip"),
        ("vans; delivery vans; panel vans; transporters", "van", "parcels", "unload; deliver; stop; are parked"),
        ("the bread van; the laundry van; the flower van", "van", "boxes", "unloads; comes; delivers"),
        ("buses; coaches; the school bus; shuttles", "bus", "", "stop; set people down; turn; wait"),
        ("tractors; farm machines; the harvester", "tractor", "trailer; hay", "are parked; pass; work"),
        ("forklifts; lift trucks; stackers", "forklift", "pallet", "drive about; stack goods; work"),
        ("diggers; excavators; bulldozers", "excavator", "", "dig; stand; are moved"),
        ("cranes; hoists", "crane", "container", "lift containers; turn"),
        ("motorbikes; mopeds; scooters", "motorcycle", "", "are left; are parked; drive through"),
        ("bicycles; bikes; cargo bikes", "bicycle", "", "are left; lean; are parked"),
        ("cyclists; people on bikes", "bicycle; person", "bicycle", "ride through; pass"),
        ("boats; dinghies; canoes; yachts", "boat", "oars", "land; pass; are moored"),
        ("ships; barges; ferries; freighters", "ship", "", "moor; pass; load"),
        ("trains; locomotives; shunters", "train", "", "pass; are shunted; stand"),
        ("helicopters; the rescue helicopter", "helicopter", "", "land; take off"),
        ("dogs; hounds; strays; mongrels", "dog", "", "roam; run about; sleep; bark"),
        ("cats; kittens; tomcats", "cat", "", "sleep; sit; slink past"),
        ("deer; roe deer; stags", "deer", "", "graze; cross; come close"),
        ("foxes; the vixen", "fox", "", "wander about; come at dusk"),
        ("wild boar; boars", "boar", "", "dig in the soil; cross"),
        ("birds; pigeons; crows; gulls; geese", "bird", "", "nest; sit; land"),
        ("cows; cattle; heifers", "cow", "", "graze; stand; low"),
        ("horses; ponies", "horse", "saddle", "graze; are led past"),
        ("sheep; lambs; goats", "sheep; goat", "", "graze; stand; jump the wall"),
        ("rabbits; hares", "rabbit", "", "hop around; feed"),
        ("hedgehogs; badgers; martens", "hedgehog; badger", "", "wander about; look for food"),
        ("rats; mice; rodents", "rat", "", "run about; are seen"),
        ("fog; mist; drizzle; rain; snow; driving rain", "none", "fog; rain", "trigger the camera; set it off"),
        ("shadows; headlights; reflections; glare", "none", "shadow; reflection", "trigger the camera; set it off"),
        ("branches; twigs; leaves; bushes", "none", "branches; leaves", "move in the wind; set it off"),
        ("cobwebs; spiders; moths; insects", "none", "insect; cobweb", "trigger the camera; sit on the lens"),
    )
)
_CHILDREN = Who(("children", "kids", "minors", "youngsters", "little ones", "pupils"), ("child",), ("ball", "school bag"), ("play", "run around", "climb about", "have their break"))
_ANY = (
    (Who(("people", "persons", "anybody", "strangers", "outsiders", "unknown people"), ("person", "child"), (), ("stay", "go in", "stand", "be"), names=False), 5),
    (Who(("vehicles", "anything on wheels", "anything with an engine", "motor vehicles", "cars and lorries"), ("car", "truck", "van", "bus", "motorcycle", "tractor", "forklift", "excavator"), (), ("park", "stop", "wait", "stand"), names=False), 4),
    (Who(("animals", "beasts", "wildlife", "four-legged visitors", "creatures", "livestock or pets"), ("dog", "cat", "deer", "fox", "boar", "cow", "horse", "sheep", "goat", "rabbit", "bird"), (), ("stray", "roam", "graze", "come close"), names=False), 3),
    (Who(("boats", "vessels", "anything that floats"), ("boat", "ship"), (), ("land", "moor", "pass"), names=False), 1),
)
_EVEN_CLASSES = ("person",) * 6 + ("child", "car", "car", "truck", "van", "bus", "tractor", "forklift", "excavator", "motorcycle", "bicycle", "boat", "dog", "cat", "deer", "fox", "bird", "cow", "horse", "sheep", "none")
_SUSPICIOUS = (("hood",), ("crowbar",), ("mask",), ("hood", "backpack"), ("bolt cutter",), ("spray can",), ("crouching",), ("balaclava", "gloves"))
_NEUTRAL = ((), (), (), (), ("backpack",), ("bag",), ("umbrella",), ("dark jacket",), ("phone",))

_TIMES = (
    "", "", "", "", "", " at any time", " between 06:00 and 09:00", " on weekdays", " until 19:00", " on Thursdays", " at weekends",
    " at night", " after 21:00", " every morning", ", 10:00-14:00 on Saturdays", " for up to 20 minutes", " from nine to five",
    " before noon", " round the clock", ", ten minutes at most", " outside working hours", " from sunrise to sunset", " during breaks",
    " on the first Monday of the month", " on Sundays and holidays", " in the evening", " from Tuesday to Friday", " after dark",
)
_PERMITS = (
    "{Who} {does} {at} {place}{time}.", "{Who} {does} {at} {place}{time}.", "{Who} may be {at} {place}{time}.", "{Who} {at} {place} are normal{time}.",
    "{Who} {at} {place}{time}: that is fine.", "Never mind {who} {at} {place}.", "You will see {who} {at} {place}{time}.", "{Place} is where {who} {does}{time}.",
    "{Who} are often {at} {place}{time}; ignore them.", "It is all right if {who} are {at} {place}{time}.", "Do not report {who} {at} {place}{time}.",
    "{Who} have permission to be {at} {place}{time}.", "We expect {who} {at} {place}{time}.", "{Who} use {place}{time}.", "There are {who} {at} {place}{time}, no need to call.",
    "{Time0}{who} {does} {at} {place}.", "{Who} come to {place}{time}.", "{Who} {at} {place} belong there{time}.", "{Who} go in and out of {place}{time}.",
    "No alarm for {who} {at} {place}{time}, please.", "{At} {place}, {who} {does}{time}.",
)
_FORBIDS = (
    "No {who} {at} {place}{time}.", "{Who} must not be {at} {place}{time}.", "{Who} {at} {place}: call me.", "Tell me about {who} {at} {place}{time}.",
    "{Place} is closed to {who}{time}.", "{Who} are not allowed {at} {place}{time}.", "Report {who} {at} {place}{time}.", "Keep {who} away from {place}{time}.",
    "{Who} have no business {at} {place}{time}.", "I want to know at once when {who} are {at} {place}.", "Watch out for {who} {at} {place}{time}.",
    "{Place} is off limits for {who}{time}.", "There must never be {who} {at} {place}{time}.", "{Who} are not welcome {at} {place}{time}.", "Sound the alarm for {who} {at} {place}{time}.",
    "{Time0}{who} may not be {at} {place}.", "If {who} turn up {at} {place}{time}, ring the office.",
)
_NOBODY = (
    "Nobody may enter {place}{time}.", "{Place} is off limits{time}.", "{Place} must stay empty{time}.", "No one is allowed {at} {place}{time}.", "It is forbidden to be {at} {place}{time}.",
    "Entry to {place} is forbidden{time}.", "{Place} has to be clear of people{time}.", "Whoever is {at} {place}{time} has to be reported.", "No admittance to {place}{time}.",
    "There should be nobody {at} {place}{time}.", "Staying {at} {place} is not permitted{time}.", "{Place} is locked{time}; nobody has any business there.",
)
_EVERYWHERE = (
    "{Who} are common here{time}: ignore them.", "Never mind {who}.", "{Who} are no cause for alarm.", "Report all {who}{time}.", "We have {who} on the premises{time}.", "No {who} on the site{time}.",
    "{Who} {does} all over the grounds{time}.", "Ignore {who} everywhere.",
)

_ZH_PEOPLE = tuple(
    Who(tuple(words.split("、")), ("person",), tuple(filter(None, tags.split("、"))), tuple(does.split("、")))
    for words, tags, does in (
        ("保安、门卫、巡逻人员", "制服、手电", "巡逻、查岗"), ("保洁员、清洁工", "拖把、水桶", "打扫、拖地"), ("快递员、送货员、外卖小哥", "包裹、餐盒", "送货、放包裹"),
        ("电工、维修师傅", "安全帽、工具箱", "检修线路、修设备"), ("油漆工、粉刷工", "梯子、油漆桶", "刷墙、施工"), ("园丁、绿化工人", "剪刀、手推车", "修剪树木、浇水"),
        ("工人、施工人员、班组成员", "安全帽、马甲", "作业、干活、换班"), ("学生、学员", "书包", "集合、休息"), ("家长、接孩子的人", "", "等孩子、接送"), ("老师、教练", "", "值班、上课"),
        ("护士、医生", "白大褂", "换班、休息"), ("游客、参观的人", "相机", "参观、拍照"), ("顾客、客人", "购物袋", "排队、等候"), ("乘客、旅客", "行李箱", "候车、上下车"), ("邻居、隔壁的人", "", "路过、抄近路"),
        ("老板、经理", "", "加班、过来看看"), ("司机、驾驶员", "", "休息、等单"), ("环卫工人、收垃圾的人", "扫帚、垃圾桶", "收垃圾、清运"), ("抽烟的人、吸烟的员工", "香烟", "抽烟、站着"), ("志愿者、义工", "马甲", "整理、帮忙"),
        ("渔民、钓鱼的人", "钓竿", "钓鱼、收网"), ("果农、采摘工", "篮子", "采摘、干活"), ("厨师、食堂师傅", "围裙", "搬菜、倒垃圾"), ("检查员、验收人员", "文件夹", "检查、查看"), ("晨练的老人、跑步的人", "运动服", "锻炼、跑步"),
    )
)
_ZH_THINGS = tuple(
    Who(tuple(words.split("、")), (class_,), (), tuple(does.split("、")))
    for words, class_, does in (
        ("轿车、小车、私家车", "car", "停放、停车"), ("出租车、网约车", "car", "等客、停靠"), ("货车、卡车、大车", "truck", "装货、卸货、停靠"), ("面包车、送货车", "van", "送货、停靠"), ("大巴、班车、校车", "bus", "接送、停靠"),
        ("叉车", "forklift", "作业、搬货"), ("挖掘机、铲车", "excavator", "施工、停放"), ("电动车、摩托车", "motorcycle", "停放、通过"), ("自行车、共享单车", "bicycle", "停放、通过"), ("船、渔船、小艇", "boat", "靠岸、停泊"),
        ("野狗、流浪狗", "dog", "出没、睡觉"), ("野猫、流浪猫", "cat", "出没、睡觉"), ("鸽子、麻雀、鸟", "bird", "停留、筑巢"), ("羊、羊群", "sheep", "吃草、经过"), ("牛、牛群", "cow", "吃草、经过"), ("老鼠", "rat", "出没、乱窜"),
        ("雾气、雨雪", "none", "误报、触发"), ("树影、树枝", "none", "晃动、误报"),
    )
)
_ZH_CHILDREN = Who(("儿童", "孩子们", "小孩", "小朋友"), ("child",), (), ("玩耍", "跑动"))
_ZH_ANY = (
    (Who(("任何人", "人员", "外人", "闲杂人等", "陌生人"), ("person", "child"), (), ("停留", "逗留"), names=False), 5),
    (Who(("车辆", "任何车", "机动车"), ("car", "truck", "van", "bus", "motorcycle"), (), ("停放", "停留"), names=False), 4),
    (Who(("动物", "小动物", "猫狗之类"), ("dog", "cat", "bird", "sheep", "cow"), (), ("出没", "停留"), names=False), 3),
)
_ZH_TIMES = ("", "", "", "早上", "夜间", "工作日", "9:00到12:00", "周末", "22:00以后", "周一上午", "晚上八点到十点", "中午", "任何时候", "下班后", "每个整点")
_ZH_PERMITS = (
    "{time}{who}会在{place}{does}。", "{who}{time}可以在{place}{does}。", "{place}常有{who}{does}，不用管。", "{time}{who}在{place}{does}是正常的。", "{who}在{place}{does}不必报告。", "允许{who}{time}进入{place}。",
    "{time}{place}有{who}{does}，可以忽略。", "{who}{time}到{place}{does}，没关系。", "{place}是{who}{does}的地方。",
)
_ZH_FORBIDS = (
    "{time}禁止{who}进入{place}。", "{time}{place}不允许{who}停留。", "{place}出现{who}要报告。", "{who}{time}不得进入{place}。", "{place}{time}不能有{who}。", "看到{who}在{place}请马上通知我。", "{time}不准{who}靠近{place}。", "{place}严禁{who}{does}。",
)
_ZH_NOBODY = ("{place}{time}禁止入内。", "{time}{place}里不应该有人。", "{place}{time}不得有人逗留。", "{time}任何人不得进入{place}。", "{place}属于禁区，{time}不许进。")
_ZH_EVERYWHERE = ("厂区里常有{who}，不用管。", "园区内{time}有{who}是正常的。", "不要管{who}。", "全场{time}禁止{who}。", "发现{who}一律报告。")

# side    as a zone is called                how notes say it
_SIDES = {
    "north": ("north {}", ("the north {}", "the northern {}", "the {} on the north side")),
    "south": ("south {}", ("the south {}", "the southern {}", "the {} to the south")),
    "east":  ("east {}", ("the east {}", "the eastern {}", "the {} on the east side")),
    "west":  ("west {}", ("the west {}", "the western {}", "the {} in the west")),
    "rear":  ("rear {}", ("the rear {}", "the back {}", "the {} at the back")),
    "main":  ("main {}", ("the main {}", "the front {}", "the principal {}")),
    "upper": ("upper {}", ("the upper {}", "the top {}", "the {} up there")),
    "lower": ("lower {}", ("the lower {}", "the bottom {}", "the {} down there")),
    "1":     ("{} 1", ("{} 1", "the first {}", "{} number one")),
    "2":     ("{} 2", ("{} 2", "the second {}", "{} no. 2")),
    "3":     ("{} 3", ("{} 3", "the third {}", "{} three")),
    "4":     ("{} 4", ("{} 4", "the fourth {}", "{} number four")),
    "door":  ("{} door", ("the {} door", "the door of the {}", "the door to the {}")),
    "gate":  ("{} gate", ("the {} gate", "the gate of the {}", "the gate to the {}")),
    "yard":  ("{} yard", ("the {} yard", "the yard behind the {}", "the yard of the {}")),
    "corridor": ("{} corridor", ("the {} corridor", "the corridor outside the {}", "the passage by the {}")),
    "window": ("{} window", ("the {} window", "the windows of the {}", "the panes of the {}")),
}
_ZH_SIDES = {
    "北": ("北{}", ("北{}", "北侧{}", "北边的{}")), "南": ("南{}", ("南{}", "南侧{}", "南边的{}")), "东": ("东{}", ("东{}", "东侧{}")),
    "1": ("1号{}", ("1号{}", "一号{}")), "2": ("2号{}", ("2号{}", "二号{}")), "3": ("3号{}", ("3号{}", "三号{}")),
    "门": ("{}门口", ("{}门口", "{}的门口", "{}门前")), "走廊": ("{}走廊", ("{}走廊", "{}外的过道")),
}
_PARTS_OF = ("door", "gate", "yard", "corridor", "window", "门", "走廊")
_SECOND = (
    "; call me if it is anybody else", "; nobody should be there after dark", ", and nobody else", "; that has been agreed", "; nothing else belongs there",
    ", but not on Sundays", ", except on Saturday from 08:00 to 12:00", ", only with a key", "; they know the way", "; the office knows about it", "; they leave by the same way",
    ". Please be strict about this", ". This holds until further notice", ", whatever they say",
)
_ZH_SECOND = ("，其他人不行", "，节假日除外", "，已经说好了", "，请严格执行", "，直到另行通知")
# fmt: on


@cache
def _table() -> dict[str, dict[str, tuple[str, ...]]]:
    """Names of places by language, canonical first; and which are near each other."""
    words = tomllib.loads(_WORDS.read_text(encoding="utf-8"))
    english = {key: tuple(dict.fromkeys(w for w in row if w.isascii())) for key, row in words["places"].items()}
    chinese = {key: tuple(w for w in row if not w.isascii()) for key, row in words["places"].items()}
    return {
        "en": {key: row for key, row in english.items() if row},
        "zh": {key: row for key, row in chinese.items() if row},
        "near": {key: tuple(row) for key, row in words["near"].items()},
    }


def in_half(key: str, half: Half) -> bool:
    """Whether a place or a kind of people belongs to lessons or to the test."""
    return (zlib.crc32(key.encode()) % _TEST_SHARE == 0) == (half == "test")


def lesson(chance: random.Random, half: Half, most: int = 6) -> Lesson:
    """Make an incident and two to `most` notes of one site; about a third of the notes speak about it."""
    chinese = chance.random() < 0.2  # noqa: PLR2004
    sight = _sight(chance, half, chinese=chinese)
    said: list[tuple[str, int]] = []
    for _ in range(chance.randint(2, most)):
        note = _near_note(chance, half, sight, chinese=chinese)
        answer = speaks(note, sight)
        if answer is not None:
            said.append((_as_written(chance, note.text, chinese=chinese), answer))
    if not said:
        return lesson(chance, half, most)
    zone = _zone(chance, sight.place, chinese=chinese)
    notes, answers = zip(*said, strict=True)
    return Lesson(format_sight(sight.class_, sight.tags, zone), notes, answers)


def _as_written(chance: random.Random, text: str, *, chinese: bool) -> str:
    """With a second half now and then, and as carelessly as people write."""
    if chance.random() < 0.18:  # noqa: PLR2004
        text = text[:-1] + chance.choice(_ZH_SECOND if chinese else _SECOND) + text[-1]
    draw = chance.random()
    if draw < 0.08:  # noqa: PLR2004
        return text[:-1]
    return text.lower() if draw < 0.14 else text  # noqa: PLR2004


def speaks(note: Note, sight: Sight) -> int | None:
    """Whether a note is about what was seen; None: people would not agree."""
    place = _same_place(note.place, sight.place)
    if place is None:
        return 0 if _fits(note, sight) == 0 else None
    return _fits(note, sight) if place else 0


def _same_place(one: Place | None, other: Place) -> bool | None:
    if one is None or one == other:
        return True
    if one.key == other.key and one.side:
        return False if other.side else None  # a zone called gate may be the main one
    if one.key == other.key:
        return None if other.side in _PARTS_OF else True  # the fence is on its north side too, a door is no canteen
    near = any(one.key in row and other.key in row for row in _table()["near"].values())
    return None if near or _shares_a_name(one.key, other.key) else False


@cache
def _shares_a_name(one: str, other: str) -> bool:
    table = _table()
    return any(
        set(re.split(r"\W", " ".join(table[lang].get(one, ())))) & set(re.split(r"\W", " ".join(table[lang].get(other, ())))) - {"", "the", "of", "for"}
        for lang in ("en", "zh")
    )  # fmt: skip


def _fits(note: Note, sight: Sight) -> int | None:  # noqa: PLR0911  # a case a line
    who = note.who
    if sight.class_ not in who.classes:
        ridden = {sight.class_, *who.classes} <= {"person", "bicycle", "motorcycle"}
        wheels = sight.class_ == "bicycle" and "car" in who.classes and not who.names
        return None if ridden or wheels or _related(who, sight) else 0
    if not who.names:
        return 1
    if sight.class_ == "person" and who.classes[0] != "person":
        return 1 if set(sight.tags) & set(who.tags) else 0  # cyclists need a bicycle
    if who.classes[0] != "person":
        return None if sight.class_ == "none" and not set(sight.tags) & set(who.tags) and sight.tags else 1
    if sight.of is who or set(sight.tags) & set(who.tags):
        return 1
    suspicious = sight.tags in _SUSPICIOUS
    if suspicious and note.allows:
        return 0  # a permission is never for somebody with a crowbar
    if suspicious or sight.of is None:
        return 1 if not sight.tags or sight.tags in _NEUTRAL else None
    return 0 if sight.tags else None


def _related(who: Who, sight: Sight) -> bool:
    """Vehicles of one kind are mixed up by detectors, sheep with goats."""
    both = {sight.class_, *who.classes}
    return any(both <= set(row) for row in (("truck", "van", "bus"), ("sheep", "goat"), ("boat", "ship"), ("excavator", "crane", "forklift", "tractor")))  # fmt: skip


def _sight(chance: random.Random, half: Half, *, chinese: bool) -> Sight:
    place = _place(chance, half, chinese=chinese)
    draw = chance.random()
    if draw < 0.3:  # noqa: PLR2004  # somebody who shows what they are
        who = chance.choice(_people(half, chinese=chinese))
        return Sight("person", _some(chance, who.tags), place, who)
    if draw < 0.45:  # noqa: PLR2004
        who = chance.choice(_ZH_THINGS if chinese else _THINGS)
        return Sight(chance.choice(who.classes), _some(chance, who.tags), place, who)
    class_ = chance.choice(_EVEN_CLASSES)
    if class_ == "person" and chance.random() < 0.3:  # noqa: PLR2004
        return Sight(class_, chance.choice(_SUSPICIOUS), place, None)
    return Sight(class_, chance.choice(_NEUTRAL) if class_ == "person" else (), place, None)


def _near_note(chance: random.Random, half: Half, sight: Sight, *, chinese: bool) -> Note:
    """A note that is about the sight, or only nearly: one of its two halves is another."""
    same_place = chance.random() < 0.55  # noqa: PLR2004
    place: Place | None = sight.place if same_place else _other_place(chance, half, sight.place, chinese=chinese)
    if chance.random() < 0.06:  # noqa: PLR2004
        place = None
    fitting = chance.random() < 0.6  # noqa: PLR2004
    who = _who_for(chance, half, sight, chinese=chinese) if fitting else _who(chance, half, chinese=chinese)
    return (_zh_note if chinese else _note)(chance, who, place)


def _who_for(chance: random.Random, half: Half, sight: Sight, *, chinese: bool) -> Who:
    if sight.of is not None and chance.random() < 0.6:  # noqa: PLR2004
        return sight.of
    everyone = [who for who, _ in (_ZH_ANY if chinese else _ANY)]
    rows = [*everyone, _ZH_CHILDREN if chinese else _CHILDREN, *(_ZH_THINGS if chinese else _THINGS)]
    if sight.class_ == "person" and chance.random() < 0.5:  # noqa: PLR2004
        return chance.choice(_people(half, chinese=chinese))
    return chance.choice([who for who in rows if sight.class_ in who.classes] or everyone)


def _who(chance: random.Random, half: Half, *, chinese: bool) -> Who:
    draw = chance.random()
    if draw < 0.35:  # noqa: PLR2004
        return chance.choice(_people(half, chinese=chinese))
    if draw < 0.6:  # noqa: PLR2004
        return chance.choice(_ZH_THINGS if chinese else _THINGS)
    if draw < 0.7:  # noqa: PLR2004
        return _ZH_CHILDREN if chinese else _CHILDREN
    rows = _ZH_ANY if chinese else _ANY
    return chance.choices([who for who, _ in rows], [weight for _, weight in rows])[0]


def _people(half: Half, *, chinese: bool) -> Sequence[Who]:
    return [who for who in (_ZH_PEOPLE if chinese else _PEOPLE) if in_half(who.words[0], half)]


def _place(chance: random.Random, half: Half, *, chinese: bool) -> Place:
    keys = [key for key in _table()["zh" if chinese else "en"] if in_half(key, half)]
    sides = _ZH_SIDES if chinese else _SIDES
    return Place(chance.choice(keys), chance.choice(list(sides)) if chance.random() < 0.3 else "")  # noqa: PLR2004


def _other_place(chance: random.Random, half: Half, place: Place, *, chinese: bool) -> Place:
    """Often the same kind of place on another side: hall 2 beside hall 3."""
    if place.side and chance.random() < 0.5:  # noqa: PLR2004
        sides = [side for side in (_ZH_SIDES if chinese else _SIDES) if side != place.side]
        same_axis = [side for side in sides if side.isdigit() == place.side.isdigit()]
        return place._replace(side=chance.choice(same_axis))
    return _place(chance, half, chinese=chinese)


def _zone(chance: random.Random, place: Place, *, chinese: bool) -> str:
    names = _table()["zh" if chinese else "en"][place.key]
    name = names[0] if chance.random() < 0.6 else chance.choice(names)  # noqa: PLR2004
    return (_ZH_SIDES if chinese else _SIDES)[place.side][0].format(name) if place.side else name


def _note(chance: random.Random, who: Who, place: Place | None) -> Note:
    words = chance.choice(who.words)
    time = chance.choice(_TIMES)
    slots = {
        "who": words,
        "Who": _capital(words),
        "does": chance.choice(who.does),
        "time": time,
        "Time0": f"{_capital(time.strip(' ,'))}, " if time else "Here ",
        "at": chance.choice(("at", "in", "by", "near", "on", "around", "next to")),
    }
    slots["At"] = _capital(slots["at"])
    if place is None:
        template = chance.choice(_EVERYWHERE)
        return Note(template.format(**slots), who, None, not template.startswith(("Report", "No ")))
    name = _place_words(chance, place)
    slots |= {"place": name, "Place": _capital(name)}
    permits = chance.random() < (0.6 if who.names else 0.3)
    templates = _PERMITS if permits else _FORBIDS
    if not permits and "person" in who.classes and not who.names and chance.random() < 0.6:  # noqa: PLR2004
        templates = _NOBODY
    return Note(_capital(chance.choice(templates).format(**slots)), who, place, permits)


def _zh_note(chance: random.Random, who: Who, place: Place | None) -> Note:
    slots = {"who": chance.choice(who.words), "does": chance.choice(who.does), "time": chance.choice(_ZH_TIMES)}
    if place is None:
        template = chance.choice(_ZH_EVERYWHERE)
        return Note(template.format(**slots), who, None, "报告" not in template and "禁止" not in template)
    name = chance.choice(_table()["zh"][place.key])
    slots["place"] = chance.choice(_ZH_SIDES[place.side][1]).format(name) if place.side else name
    permits = chance.random() < (0.6 if who.names else 0.3)
    templates = _ZH_PERMITS if permits else _ZH_FORBIDS
    if not permits and "person" in who.classes and not who.names and chance.random() < 0.6:  # noqa: PLR2004
        templates = _ZH_NOBODY
    return Note(chance.choice(templates).format(**slots), who, place, permits)


def _place_words(chance: random.Random, place: Place) -> str:
    name = chance.choice(_table()["en"][place.key])
    if place.side:
        return chance.choice(_SIDES[place.side][1]).format(name)
    return f"the {name}"


def _some(chance: random.Random, tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(chance.sample(tags, chance.randint(0, min(2, len(tags)))))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
