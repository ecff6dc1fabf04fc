"""English words by what they do in an answer: plain data for the readers of open answers.

`languages` holds what all languages share: denials, conditions, copulas. The lists here are finer, because most
replies are English: which words may stand beside a noun without making it another thing ("a brown dog"), which
make it one ("a hot dog"), and in which spellings a word is the same word.
"""

# ruff: noqa: E501  (a list of words is one line, however long)

from __future__ import annotations


def _(words: str) -> frozenset[str]:
    return frozenset(words.split())


# -- What may stand around a noun phrase

DETERMINERS = _("a an the my our your its their his her this that these those some one any another each")
PRONOUNS = _(
    "it this that they he she i we you these those there who which what it's that's he's she's i'm i'd they're"
)
BE = _("is are was were be been being am 's it's that's there's he's she's this's they're has have had")
PREPOSITIONS = _(
    "in on at of by from with near under over above below behind beside beneath between inside outside into onto to for "
    "through across along around against next during after before within like as about toward towards off via per "
    "that which who whose where when while because since than if so but not then"
)
VERBS = _(
    "says say reads read shows show displays display called named wears wear wearing holds hold rides ride plays play eats eat "
    "drinks drink uses use drives drive carries carry speaks speak sells sell makes make sees see saw watches contains contain "
    "features depicts depict represents indicates means states has have had includes looks seems appears becomes equals spells "
    "labeled labelled marked reading saying lives live believe think guess choose pick answer belongs goes refers corresponds "
    "points comes leads stands sits lies travels flies walks runs leans works wins won scored leads costs weighs"
)
PARTICIPLES = _(
    "taken made built held shot born found sold won seen written drawn set worn grown spoken driven ridden eaten given shown "
    "known went flew came sat ran stood lay lies lives goes comes sits stands flies leads lead hidden lying cut"
)
ADVERBS = _(
    "very really quite clearly probably likely most definitely simply just only actually mostly mainly almost also maybe perhaps possibly"
)
SUBORDINATE = _("although though while whereas because since when if unlike even despite except besides")
INTERJECTIONS = _(
    "yes no sure okay ok well hmm so thus therefore hence finally ultimately actually indeed certainly clearly answer looking based "
    "judging given from considering according oui ja sí si sim da evet ya да нет non nein"
)
MODIFIERS = _(
    "first second third fourth fifth last famous iconic popular historic well-known beloved renowned delicious fresh ripe tasty colorful colourful vintage classic electric wooden ceramic sliced fried grilled baked cooked "
    "cute tiny adorable friendly playful healthy busy crowded quiet few several couple pair two three four five six"
)
NEUTRAL_AFTER = _(
    "inc corp ltd llc gmbh co company weather side color colour area direction too either here there itself instead today now overall alone tall"
)
# Nouns that name the kind of thing, or a portion of it: "the city of Paris", "a cup of coffee", "a Nike shoe".
KINDS = _(
    "pinch portion bit picture photo image photograph view drawing illustration kind type sort color colour shade word name number letter brand city "
    "country town state person animal cup glass bottle bowl slice piece plate group pair bunch herd flock can bag pack loaf set lot "
    "form species breed logo sign phone car team company airline flag store restaurant style month year day model make title song "
    "sport game object item capital language currency shape material fruit vegetable food drink dish vehicle building room place "
    "woman man boy girl player singer actor artist character celebrity author painter scientist"
)
# What may follow a number without being what is counted: "12 in total", "8 people" counts people.
NOT_NOUNS = _(
    "in on at of and or is are was were be to for with by from the a an total altogether overall more here there "
    "because as since but so which that this it i we you they he she per out left right each all visible shown "
    "if then when where while who can could will would have has had do does did not no than plus minus times "
    "x years year old different other only just also too now ago away long tall wide high deep thick heavy big "
    "ones items pieces things in-total according based after before during against versus vs about around "
    "approximately roughly exactly maybe perhaps probably likely i'd it's units unit points point o'clock"
)
NOT_SMALL = _(
    "new great two three thing object animal one case course view line end money hand"
)  # the table of languages lists them for other purposes

# -- What makes a noun or a name another one

COMPOUNDING = _(
    "hot guide sea cold wild sheep fire french prairie toy stuffed fake teddy polar guinea rubber paper sports"
)
DIRECTIONS = _(
    "north south east west northern southern eastern western central new old upper lower great saint san el los las"
)
TITLES = _(
    "mr mrs ms miss dr prof professor president sir lord lady king queen prince princess captain general senator mount mt planet"
)
NAMES = _("will may mark bill art sue rob drew")  # first names that are also small words
# Adjectives that are also things: "an orange peel" is not an orange.
ALSO_NOUNS = _(
    "orange gold silver baby pet metal plastic top bottom back front square giant adult male female light round lone"
)
COLOURS = _("red green blue yellow orange purple pink brown gray grey beige white black gold silver")

# -- Places that may follow a name after a comma: "Paris, France"

COUNTRIES = frozenset(
    place.replace("-", " ")
    for place in _(
        "france germany italy spain portugal england scotland wales ireland northern-ireland uk u.k united-kingdom great-britain "
        "usa us u.s u.s.a united-states america canada mexico brazil argentina chile peru colombia cuba china japan korea "
        "south-korea north-korea india pakistan bangladesh nepal thailand vietnam indonesia malaysia singapore philippines australia "
        "new-zealand russia ukraine poland czech-republic czechia austria switzerland netherlands the-netherlands belgium denmark "
        "sweden norway finland iceland greece turkey egypt morocco tunisia algeria kenya nigeria ghana ethiopia south-africa "
        "israel iran iraq saudi-arabia uae united-arab-emirates qatar hungary romania bulgaria serbia croatia slovenia slovakia "
        "estonia latvia lithuania luxembourg malta cyprus europe asia africa taiwan hong-kong "
        "tanzania uganda rwanda zambia zimbabwe namibia botswana angola mozambique madagascar senegal cameroon ivory-coast sudan "
        "somalia libya lebanon syria kuwait oman yemen bahrain afghanistan kazakhstan uzbekistan mongolia cambodia laos myanmar "
        "sri-lanka bolivia ecuador paraguay uruguay venezuela guatemala honduras nicaragua costa-rica panama jamaica haiti "
        "dominican-republic puerto-rico armenia azerbaijan belarus moldova albania north-macedonia bosnia montenegro kosovo bhutan "
        "maldives fiji papua-new-guinea monaco vatican-city liechtenstein andorra "
    )
)
REGIONS = frozenset(
    place.replace("-", " ")
    for place in _(
        "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois indiana "
        "iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska "
        "nevada new-hampshire new-jersey new-mexico new-york north-carolina north-dakota ohio oklahoma oregon pennsylvania "
        "rhode-island south-carolina south-dakota tennessee texas utah vermont virginia washington west-virginia wisconsin wyoming "
        "ontario quebec british-columbia nsw new-south-wales victoria queensland ca ny tx fl il ma pa dc d.c"
    )
)
PLACES = COUNTRIES | REGIONS

# -- Spelling: British to American, words with two spellings, irregular plurals, ordinals, days and months

SPELLINGS = {
    "grey": "gray", "doughnut": "donut", "tyre": "tire", "cheque": "check", "programme": "program", "aluminium": "aluminum",
    "moustache": "mustache", "pyjama": "pajama", "yoghurt": "yogurt", "mould": "mold", "plough": "plow", "sceptic": "skeptic",
    "jewellery": "jewelry", "kerb": "curb", "draught": "draft", "storey": "story", "ageing": "aging", "cosy": "cozy",
    "defence": "defense", "offence": "offense", "licence": "license", "practise": "practice", "catalogue": "catalog",
    "dialogue": "dialog", "analogue": "analog", "axe": "ax", "artefact": "artifact", "aeroplane": "airplane", "whisky": "whiskey",
    "mt": "mount", "omelette": "omelet", "ketchup": "catsup", "okay": "ok", "mum": "mom", "tonne": "ton", "adviser": "advisor", "disc": "disk",
    "barbeque": "barbecue", "bbq": "barbecue", "tv": "television", "fibre": "fiber", "litre": "liter", "metre": "meter",
    "centre": "center", "theatre": "theater", "sabre": "saber", "calibre": "caliber", "lustre": "luster", "sombre": "somber",
    "spectre": "specter", "ochre": "ocher", "kilometre": "kilometer", "centimetre": "centimeter", "millimetre": "millimeter",
    "chilli": "chili", "enrol": "enroll", "fulfil": "fulfill", "skilful": "skillful", "woollen": "woolen", "judgement": "judgment",
    "men": "man", "women": "woman", "children": "child", "feet": "foot", "teeth": "tooth", "geese": "goose", "mice": "mouse",
    "people": "person", "persons": "person", "knives": "knife", "wives": "wife", "lives": "life", "leaves": "leaf", "wolves": "wolf",
    "shelves": "shelf", "loaves": "loaf", "halves": "half", "calves": "calf", "scarves": "scarf", "oxen": "ox", "dice": "die",
    "mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday", "thurs": "thursday",
    "fri": "friday", "sat": "saturday", "sun": "sunday", "jan": "january", "feb": "february", "mar": "march", "apr": "april", "jun": "june",
    "jul": "july", "aug": "august", "sep": "september", "sept": "september", "oct": "october", "nov": "november", "dec": "december",
    "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th",
    "eighth": "8th", "ninth": "9th", "tenth": "10th", "eleventh": "11th", "twelfth": "12th",
}  # fmt: skip
# Words that only look like a plural or a British spelling.
KEPT_SPELLINGS = _(
    "four hour flour tour your pour sour our glasses news series species mars texas paris james thomas charles wales athens jeans pants "
    "scissors always gas bus lens christmas jesus kansas atlas canvas dallas vegas chaos cosmos has was this yes promise exercise advertise "
    "surprise otherwise likewise precise expertise paradise enterprise merchandise franchise disguise television premise raise praise noise "
    "cruise bruise filling spelling killing rolling selling calling falling pulling telling wall smelling swelling"
)
ENDING_IE = _(
    "movie cookie brownie zombie selfie smoothie calorie hoodie birdie rookie genie prairie collie pixie veggie"
)
ENDING_OE = _("shoe toe canoe foe hoe horseshoe oboe")
