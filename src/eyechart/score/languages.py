"""The words that readers know, per language: one table, plain data, for people to extend.

A reader never asks which language it reads. It looks words up here by what they do: name the answer, deny
what follows, begin a condition. To teach the readers a language, add a `Language` to `LANGUAGES`; to teach
them a phrase, add it to a field. Phrases are written in lower case, separated by ``|``; a phrase of several
words is found as these words in this order, and the longest phrase wins ("no doubt" is not "no"). In scripts
without spaces between words (Chinese, Japanese, Korean) a phrase is found wherever its characters stand.

Languages of one script share words that mean different things ("si", "so", "die"). `function` holds the small
words by which a reply's language is recognised; they mean nothing else.
"""

# ruff: noqa: E501  (a field of phrases is one line, however long)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What the words of one language do in an answer. Fields that a language does not need stay empty."""

    name: str

    # What states an answer
    answer: Phrases = ()  # nouns: "the [answer] is B"
    option: Phrases = ()  # nouns beside a letter: "[option] B"
    listing: Phrases = ()  # nouns that announce all of them: "the [options] are A. cat, B. dog", "[each option]"
    total: Phrases = ()  # what says that a number is the result: "7 [in total]", "the [sum] is 7"
    copula: Phrases = ()  # "it [is] B", "must be", "="
    copula_last: Phrases = ()  # those that end a sentence: "B [です]", "B [है]"
    pronoun: Phrases = ()  # subjects that stand for the thing in question: "[it] is B"
    choose: Phrases = ()  # verbs: "I [choose] B"
    believe: Phrases = ()  # "[I think] B"
    right: Phrases = ()  # adjectives: "B is [correct]", "the [best] option"
    match: Phrases = ()  # verbs: "B [matches]"
    only: Phrases = ()  # "[only] B fits"
    conclude: Phrases = ()  # "[so] B", "[final]: B"
    reason: Phrases = ()  # "B [because] it barks"

    # What takes an answer back, or keeps it from being one
    wrong: Phrases = ()  # "B is [wrong]", "B is [absent]", "[ruled out]": denies what it is said of
    too: Phrases = ()  # with an adjective after it, the same: "B is [too] big"
    deny: Phrases = ()  # before: "[not] B"; where nothing follows, what precedes: "B does [not] fit"
    deny_next: Phrases = ()  # only what follows: "B [rather than] C", "[anything but] B"
    deny_last: Phrases = ()  # only what precedes: "B [ではない]", "B [değil]"
    doubt: Phrases = ()  # "I [doubt] it is B"
    none: Phrases = ()  # what denies all options at once: "[none of them], but D is closest"
    possible: Phrases = ()  # "it [might] be B"
    also: Phrases = ()  # beside an answer, a second one: "B, though D is [equally possible]"
    condition: Phrases = ()  # "[if] it barks, B"
    report: Phrases = ()  # what others say: "[one might think] B", "[supposedly] B"
    person: Phrases = ()  # who may hold another opinion, together with a verb of `opinion`: "the [student] chose B"
    opinion: Phrases = ()  # "the student [chose] B"
    says: Phrases = ()  # verbs of what others say: "the farmer [says] it is B", but not "the sign says B"
    according: Phrases = ()  # "[according to] my teacher, B", but not to a `source`
    source: Phrases = ()  # what is asked about: "according to the [picture]"
    given_up: Phrases = ()  # "[I thought] it was B", "[at first] B"
    consider: Phrases = ()  # "[let me check] B", "[compared to] B"
    correction: Phrases = ()  # what follows replaces what precedes: "B. [Actually], C", "B? [No], C"
    withdraw: Phrases = ()  # what precedes does not hold, whatever follows: "B. [Wait]", "B. [I was wrong]"
    concede: Phrases = ()  # "[although] B looks right, C is"
    contrast: Phrases = ()  # "[but]": what was said before does not hold for what comes
    otherwise: Phrases = ()  # "[otherwise] C": the second branch of a condition
    neutral: Phrases = ()  # idioms that hold one of these words and do not mean it: "no doubt", "if I had to guess"

    would: Phrases = ()  # "a dog [would] be smaller"

    # Small words
    ordinals: Phrases = ()  # "the [second] option"; the last word stands for the last one
    self: Phrases = ()  # who replies: after "others say B", "[I] say C"
    that: Phrases = ()  # after a comma it continues the sentence: "I do not think, [that] it is B" (dass, что)
    either: Phrases = ()  # "A [or] B"
    both: Phrases = ()  # "A [and] B"
    article: Phrases = ()
    filler: Phrases = ()  # adverbs and particles that may stand between a cue and a letter: "clearly", "です"
    function: Phrases = ()  # other small words, verbs of seeing and being: neither part of a name nor an answer

    # Yes and no, numbers, names
    yes: Phrases = ()
    no: Phrases = ()
    true: Phrases = ()
    false: Phrases = ()
    bound: Phrases = ()  # "[at least] 3", "[more than] 3", "[between] 3 and 5": not that number
    about: Phrases = ()  # "[about] 5": not that number, unless it is a round one
    label: Phrases = ()  # "[Figure] 3", "[page] 3": a number that is a name
    modifier: Phrases = ()  # adjectives that leave a thing what it is: "a [brown] dog"; also "a red car"
    modifier_endings: Phrases = ()  # endings of such adjectives
    verb_endings: Phrases = ()  # endings of verbs that say what is seen: "the man ride[s] a horse", not "wants to buy"
    letter_endings: Phrases = ()  # what may be joined to a letter by an apostrophe: "B'[dir]"
    abstain: Phrases = ()  # "I [cannot tell]"
    numbers: Phrases = ()  # zero, one, two ... twenty, in order; several words for one number are joined by "/"
    tens: Phrases = ()  # twenty, thirty ... ninety
    counts_on: Phrases = ()  # tens after which counting goes on to 19: "soixante-quinze" is 75
    tens_and: Phrases = ()  # how a ten and a unit are joined: "{ten} y {unit}"
    last_units: Phrases = ()  # units that are written otherwise after a ten: "ein=1"
    scales: Phrases = ()  # hundred, thousand, million: beside one of these, a number word is a part of a number
    months: Phrases = ()  # January to December, in order, joined likewise
    at_least: Phrases = ()  # before a number: "[at least] 8"; bounds that say in which direction
    at_most: Phrases = ()
    more_than: Phrases = ()
    less_than: Phrases = ()
    or_more: Phrases = ()  # after a number: "8 [or more]"
    or_less: Phrases = ()
    and_more: Phrases = ()  # after a number, which itself is left out: 8[多]
    and_less: Phrases = ()
    present: Phrases = ()  # "[there is] a car", "[我看到]", "[hay]": a yes where the question is whether
    absent: Phrases = ()  # "[ありません]": a no, where `deny` does not hold it
    reference: Phrases = ()  # "[Figure] 2": a number that only points somewhere


def _(phrases: str) -> Phrases:
    return tuple(phrase for part in phrases.split("|") if (phrase := part.strip()))


ENGLISH = Language(
    name="English",
    listing=_(
        "options | choices | alternatives | possibilities | candidates | each option | each choice | each answer | each of the options | each of the choices | every option | all options | all the options | answer choices | answer options | possible answers | four options | the four options | these options"
    ),
    total=_(
        "total | in total | in all | altogether | sum | the sum | combined | together | in sum | all told"
    ),
    months=_(
        "january/jan | february/feb | march/mar | april/apr | may | june/jun | july/jul | august/aug | september/sep/sept | october/oct | november/nov | december/dec"
    ),
    at_least=_(
        "at least | at the very least | no fewer than | no less than | not fewer than | not less than | a minimum of | minimum of | minimum | >= | ≥ | > ="
    ),
    at_most=_(
        "at most | no more than | not more than | a maximum of | maximum of | maximum | up to | <= | ≤ | < ="
    ),
    more_than=_(
        "more than | greater than | larger than | bigger than | higher than | over | above | exceeds | exceeding | exceed | beyond | upwards of | > | after | later than | since"
    ),
    less_than=_(
        "less than | fewer than | smaller than | lower than | under | below | almost | nearly | just under | close to | < | before | earlier than | short of"
    ),
    or_more=_(
        "or more | or above | or higher | or greater | and above | and up | at least | at minimum | minimum | at the least"
    ),
    or_less=_(
        "or less | or fewer | or below | or lower | and below | or under | at most | at the most | maximum | max | tops"
    ),
    reference=_(
        "figure | figures | fig | figs | table | tables | page | pages | p | pp | step | steps | question | questions | option | options | choice | choices | chapter | chapters | section | part | panel | image | picture | photo | slide | row | column | line | item | example | exercise | appendix | footnote | exhibit | equation | eq | version | diagram | chart | graph | plot | problem | room | level | no | nr | n°"
    ),
    answer=_(
        "answer | answers | ans | solution | final answer | prediction | verdict | response | output | result | assistant | my vote"
    ),
    option=_(
        "opt | option | options | choice | choices | letter | alternative | selection | pick | item | statement | candidate | possibility | answer choice | answer option"
    ),
    copula=_(
        "is | are | was | were | be | it's | that's | this's | there's | would be | should be | must be | will be | can only be | could only be | has to be | have to be | needs to be | seems to be | appears to be | seems | appears | looks | looks like | seems like | is likely | is most likely | equals | would have to be | is going to be | ought to be | turns out to be | answer's | turned out to be | sounds | gotta be | got to be | has got to be | becomes | remains"
    ),
    pronoun=_(
        "it | this | that | it's | that's | which | these | the animal | the object | here | they | one"
    ),
    choose=_(
        "we get | we obtain | i get | leaving us with | leaving only | leaves me with | that leaves us with | this leaves us with | which leaves us with | that leaves only | i'd like to change my answer to | i would like to change my answer to | choose | chose | chosen | choosing | pick | picked | picking | select | selected | selecting | go with | going with | went with | opt for | opting for | settle on | settling on | settle for | vote for | i'd say | i would say | i'll say | i'd answer | i would answer | i'll answer | i will answer | i answer | we answer | mark | marking | stick with | sticking with | lean towards | leaning towards | leaning toward | lean toward | lock in | locking in | my money is on | bet on | make that | make it | change my answer to | changing my answer to | change it to | conclude | leads to | lead to | leads me to | lead me to | leads us to | leaves | leaving | leaves us with | leaves only | that leaves | i'm confident in | goes to | go for | going for | went for | favor | favour | i say | point to | points to | pointing to | points me to | belongs to | chooses | i'm picking | i said | selects | gives us | matched by | the winner is | settled on | settled for | decided on | decide on | decided for | makes | make | which makes | equals | adds up to | add up to | a total of | gives | answer with | would answer with | i would answer with | decided | decide | let's go with | so it's | gotta be | got to be | we say | prefer | i answer with | i'd prefer | i'd put | i put | switching to | switch to | changing to | change to | changed to | still answer | still say | still choose | would still answer | still go with | stick to | sticking to | keep | keeping | stay with | staying with | i lean | i'd go | i would go | i'll go | i'd go with | i would go with | i'll go with | i'd go for | i'll go for | i would go for | left with | we are left with | we're left with | tick | you can tick | answer this with | i would answer this with"
    ),
    believe=_(
        "i think | i believe | i guess | i suspect | i'd guess | i would guess | my guess | my best guess | best guess | i feel | i reckon | i'm fairly sure | i'm pretty sure | i'm sure | i am sure | i'm certain | i am confident | i'm confident | "
        "in my opinion | in my view | i'm going to say | i am going to say | i'm thinking | i assume | i suppose | we think | we believe | i'd think | guess"
    ),
    right=_(
        "the most likely | the likeliest | the most plausible | the most probable | the most reasonable | correct | right | best | true | accurate | appropriate | suitable | fitting | valid | correctly | accurately | winner | the one | most appropriate | most accurate | most suitable | most plausible | the only possibility | consistent with | ✓ | ✔ | ✅ | ☑ | closest | right one | correct one | one that | better | a better fit | a better match | a better choice | far better | more likely | more plausible | more probable | more accurate | more appropriate | more suitable"
    ),
    only=_("only | just | solely | nothing but | the only one | the only"),
    conclude=_(
        "so | thus | therefore | hence | consequently | accordingly | finally | final | in conclusion | conclusion | in summary | summary | to conclude | to sum up | in short | overall | ultimately | as a result | final choice | final selection | final decision | the final | all in all | which means | that means | this means | meaning | putting it together | bottom line | tl;dr | decision | in the end | so then | ergo | this gives | which gives | giving | by elimination | after all | upon closer inspection | on closer inspection | on closer look | on reflection | upon reflection | edited | edit"
    ),
    reason=_(
        "because | since | as | reason | reasons | reasoning | explanation | rationale | justification | due to | given that | based on | considering that | seeing that | thanks to | which shows | as shown | i.e. | namely | for the | so that"
    ),
    wrong=_(
        "wrong | incorrect | incorrectly | false | invalid | inaccurate | mistaken | untrue | impossible | implausible | unlikely | improbable | unsuitable | inappropriate | inconsistent | excluded | eliminated | ruled out | rejected | discarded | dismissed | absent | missing | irrelevant | misleading | unsupported | contradicted | contradicts | fails | fail | refuted | crossed out | out of the question | off the table | a distractor | distractor | distractors | a trap | excludes | eliminates | rules out | can be ruled out | ✗ | ✘ | ❌ | ✖ | ✕ | ❎ | x'd out | off | nonsense | least likely | least plausible | a mistake | an error | a bad choice | mismatch | worst | less likely | least | less plausible | poor | weak | is out | are out | be out | out too | is what they want | is what they | is what people | is what most | is what many | removed | deleted | struck out | taken out | withdrawn | is what i would have | is what i'd have"
    ),
    deny=_(
        "not | no | never | neither | nor | none | n't | isn't | aren't | wasn't | weren't | doesn't | don't | didn't | can't | cannot | couldn't | won't | wouldn't | shouldn't | hasn't | haven't | mustn't | ain't | isnt | doesnt | cant | dont | rule out | ruling out | ruled out | eliminate | eliminating | eliminated | exclude | excluding | reject | rejecting | dismiss | discard | cross out | crossing out | cross off | avoid | there's no | no sign of | lacks | lack | nothing like | far from | excludes | eliminates | rules out | disprove | incorrect to | wrong to | a mistake to | an error to | tempting to | failed to | nothing to do with | fails to be | fail to be | except | would be wrong to | be wrong to | not that i think | nothing | nobody | no evidence of | no one | no trace of | retract | retracting | withdraw | withdrawing | take back | taking back | revoke | cancel | abandon | drop | give up on | false to | untrue to | inaccurate to | misleading to | little to | nothing to | not much to | hard to support | little that"
    ),
    deny_next=_(
        "all but | everything but | all except | everything except | every option but | every option except | all options except | all options but | lack of | the lack of | absence of | the absence of | rather than | instead of | as opposed to | unlike | in place of | anything but | other than | except | except for | besides | apart from | aside from | without | over | in contrast to | but not | and not | free of | free from | devoid of | lacking | anyone but | anybody but | any but | any option but | any answer but"
    ),
    doubt=_(
        "whether | doubt | i doubt | doubtful | doubtfully | not convinced | not sure if | not sure whether | not sure that | unsure if | unsure whether | can't tell if | can't tell whether | cannot tell if | cannot tell whether | cannot tell | can't tell | not clear if | not clear whether | unclear if | unclear whether | don't think | do not think | don't believe | do not believe | wouldn't say | would not say | wouldn't choose | would not choose | don't see | hard to say | hard to believe | no reason to | questionable | can't say | cannot say | toss-up | toss up | torn between | tie between | undecided | close call between | hesitate between | hardly | scarcely | barely | not that i think | far from | i can't say | i don't trust | cannot verify | idea whether | whether it | whether the | i wonder | i hope | i wish | hopefully | hoping | i'd like to | i would like to | i refuse to | refuse to | i cannot agree | i can't agree | disagree with"
    ),
    possible=_(
        "chance that | chance it | a chance | some chance | a possibility | one possibility | another possibility | a candidate | one candidate | a possible answer | one option | a contender | in the running | might | may | could | maybe | perhaps | possibly | potentially | possible | conceivably | could be | might be | may be | arguably | tempting | could also | as well be | might as well"
    ),
    condition=_(
        "would it be | would this be | it would need | it would have to | there would have to | there would need | you would need | we would need | it would take | if | unless | suppose | supposing | assuming | assume | assumes | provided | providing that | in case | in which case | depends | depending | had it | had the | were it | were the | hypothetically | imagine | as long as | only when | whenever | would have been | would've been | if only | conditional | should it | should the | should there | should this | had there | were there | had you | had i | were this | in that case | let's say | let us say | let's assume | let's suppose | what if | pretend | in case of | until | till"
    ),
    report=_(
        "previous question | preceding question | last question | earlier question | another question | other question | dataset label | gold label | gold answer | reference answer | the annotation | someone said | someone says | someone thinks | someone chose | someone might | somebody said | some say | some might | some would | some may | some people | many would | many might | many may | many people | many think | many say | many choose | most people | people may | people might | people would | people often | people think | people say | others may | others might | others say | others think | others would | one might | one may | one could | one would think | you might | you may | you could think | you'd think | they say | they said | he said | she said | he says | she says | he thinks | she thinks | he chose | she chose | he answered | she answered | they chose | they picked | it is said | it's said | was told | been told | told me | a common answer | a common mistake | a common misconception | commonly chosen | popular answer | according to him | according to her | according to them | according to some | answer key | the key | alleges | alleged | supposedly | reportedly | allegedly | another ai | other ai | reddit | wikipedia | naively | a casual viewer | the internet says | rumor | rumour | said to be | the previous answer | previous answer | previous response | previous user | previous model | tempted to | claims that | claims the | claims it | claimed that | claimed the | chosen by | picked by | selected by | according to one | one source | it is believed | is believed | is thought | is often claimed | is commonly | is generally | widely believed | often claimed | ground truth | official answer | claimed it | claims to | insisted | insists | insisting | revealed | reveals that | argued that | argues that | asserted | asserts | announced | declared | declares | swears | swore | told us | told everyone | mentioned that | maintains | maintained | contends | hinted | hints | said that | says that | said it | says it | said the answer | says the answer | said the correct | says the correct | thinks that | thinks it | thinks the | believes that | believes it | believes the | guesses that | calls it | called it | calls this | wrote that | writes that | suggested that | suggested it | would have us believe | rumor has it | i heard | i've heard | i read | i was told | i've been told | word is | the consensus"
    ),
    given_up=_(
        "earlier | an earlier | initially | at first | first glance | at first glance | at first sight | first impression | first thought | my first | my initial | i thought | i had thought | i'd thought | we thought | i was thinking | i believed | i assumed | i was going to | was going to | were going to | i was about to | was about to | i almost | almost chose | almost said | almost picked | nearly chose | i was tempted | was tempted | i wanted to | i originally | originally | my earlier | my previous | used to think | it seemed | seemed like | looked like | i mistook | i misread | on the surface | on the face of it | superficially | at a glance | was leaning | i previously | i earlier | i had considered | i considered | seemed | my first idea | first idea | first guess | first choice | first instinct | seems at first | looks at first | wanted to answer | wanted to say | wanted to choose | almost went | used to be | ago | a minute ago"
    ),
    consider=_(
        "consider | considering | check | checking | examine | examining | evaluate | evaluating | look at | looking at | let's look | let me look | compare | compared to | compared with | comparing | versus | vs | vs. | what about | how about | let me check | let's check | let's consider | let's see | let me see | analyse | analyze | analyzing | analysing | verify | verifying | inspect | inspecting | review | reviewing | turning to | moving on to | moving to | now for | next is | next up | as for | regarding | concerning | with respect to | start with | starting with | begin with | beginning with | assess | assessing | look into | think about | thinking about | recheck | re-check | revisit | focus on | between | having considered | wondering between | tough choice between | choice between | going through | choose between | decide between | one of | next | than | like | resembles | resemble | similar to | as big as | as large as | as tall as | as small as | the size of | reminiscent of | hint | let's go through | let us assume | mistaken for | confused with | see option | see choice | smaller than | larger than | bigger than | greater than | taller than | shorter than | longer than | heavier than | lighter than | older than | younger than | faster than | slower than | more than | less than | fewer than | which looks like | that looks like | which resembles | that resembles | dressed as | dressed like | disguised as | shaped like | in the shape of"
    ),
    correction=_(
        "no | nope | actually | correction | second thought | i mean | i meant | sorry | oops | whoops | let me correct | hmm | or rather | more precisely | update | revised | revision | corrected | correcting | changing my mind | rethinking | rethink | let me re-read | looking again | should have been | instead | apologies | my apologies | wait a minute"
    ),
    contrast=_(
        "but | however | nevertheless | nonetheless | instead | in fact | in reality | actually | but rather | but instead | only then | rather | yet"
    ),
    otherwise=_("otherwise | else | or else | if not | if so"),
    neutral=_(
        "unless i'm mistaken | unless i am mistaken | unless i'm wrong | as mentioned earlier | mentioned earlier | as noted earlier | noted earlier | as i said earlier | as stated earlier | seen earlier | earlier than | tells us | tell us | telling us | the choices provided | the options provided | options provided | provided options | provided choices | the information provided | the image provided | the provided image | provided image | if you zoom in | if we zoom in | if you look at | if we look at | when we look at | if you examine | if we examine | if you inspect | no doubt | without doubt | without a doubt | without any doubt | without question | beyond doubt | no question | undoubtedly | no problem | no need to | why not | if forced | if you look | if we look | if you look closely | if i'm not mistaken | if i am not mistaken | as if | even if | see if | whether or not | no matter | nothing else | no other | no more | no less | no further | no explanation | not surprisingly | needless to say | can't go wrong | cannot be anything else | can't be anything else | none of the others | none of the other | none other than | not any other | no others | must be true | other options | the other options | the others | all others | other choices | the other choices | the remaining options | remaining options | all other options | all others are wrong | the others are wrong | the rest are wrong | not the others | i have no doubt | there is no doubt | there's no doubt | i don't doubt | cannot be denied | wait a minute | at least one | right away | right side | right hand | right-hand | the right of | upper right | lower right | top right | bottom right | right next | right in | right on | right at | right above | right below | right behind | right beside | as the | such as | so far | so many | so much | so that | so it seems | or so | only one | as for why | before choosing | before answering | no longer a question | out of | out of the | given the | based on the | which option | which letter | which one | not just | not the only | no hesitation | without hesitation | rule out the others | ruling out the others | rules out the others | eliminate the others | eliminating the others | eliminates the others | rule out the rest | unlike the others | unlike the other | rather than the others | rather than the other | instead of the others | than the others | than the other | than any other | than any of the other | as described | many thanks | thanks | feel free | let me know | if you have | if you need | if you'd like | if you want | some of | as requested | as you can see | when compared | thought about | as i said | as i said before | if i look | if one looks | only visible | nothing else fits | no way this is anything other than | anything other than | so also | not entirely sure | not completely sure | not totally sure | not 100% sure | not quite sure | not certain | difficult to be certain | no explanation needed | no need | far more likely | the right side | right side of | i have no | true to | aren't they | doesn't it | best regards | at best | so clearly | may i | might i | no wonder | may be seen | can be seen | as can be seen | could be seen | may help | might help | i don't need | after considering | don't hesitate | on the right side | isn't it | i thought about | there's no way this is anything other than | there is no way this is anything other than | can't be anything but | cannot be anything but | can be nothing but | if i had to guess | if i had to choose | if i had to pick | if i had to answer | if i had to say | if i had to decide | if i had to bet | if i had to select | if i have to choose | if i have to pick | if i have to guess | if i must choose | if i must answer | if forced to choose | if forced to pick | if pressed | little doubt that | little doubt | no doubt that | there's little doubt that | there is little doubt that | there is no doubt that | there's no doubt that | i have little doubt that | i have no doubt that"
    ),
    either=_("or | either | and/or | or maybe | or possibly | or perhaps | nor | both | not only | but also"),
    both=_("and | plus | as well as | & | +"),
    article=_("a | an | the | my | our | your | its | their | his | her"),
    filler=_(
        "clearly | definitely | obviously | certainly | surely | indeed | simply | probably | presumably | evidently | apparently | undoubtedly | very | really | quite | pretty | rather | of course | in this case | here | then | now | also | again | exactly | of | to | to be | be | being | been | by far | for sure | i | we | would | will | should | must | shall | i'll | i'd | we'll | as | following | one | number | called | labeled | labelled | lettered | namely | would therefore | would thus | please | ok | okay | well | alright | sure | ah | oh | yes | great | good | therefore | with confidence | confidently | strongly | i am | i'm | by | that | most | likely | most likely | very likely | quite likely"
    ),
    function=_(
        "the | of | and | in | on | at | to | from | by | with | there | i | we | you | he | she | they | them | is | are | was | can | could | will | shall | do | does | did | has | have | had | see | sees | seen | saw | show | shows | shown | showing | depict | depicts | depicted | visible | image | picture | photo | photograph | question | all | any | each | every | this | that | these | those | what | which | who | how | why | when | where | here | very | more | most | than | about | into | near | under | behind | beside | between | next | above | below | inside | outside | across | along | around | through | after | during | appears | appear | sits | stands | lies | sitting | standing | lying | present | contains | contain | looks | seems | based | also | too | as | it | its | me | my | your | our | because | so | but | or | not | for | if | be | been | being | would | should | must | may | might | definitely | clearly | probably | just | only | really | actually | please | thing | animal | object | one | two | three | i'm | i'd | i'll | i've | you're | we're | us | gets | get | goes | go | make | makes | made | called | named | found | used | given | instead | again | today | now | then | there's | am | reads | read | says | states | displays | features | holds | means | spells | wears | wearing | holding | writes | say | tells | tell | plays | represents | represent | describes | describe | looking | includes | including | without | against | toward | towards | upon | off | out | up | down | whose | while | whether | both | stands for | next to | standing next to | sitting next to | see above | see below | mentioned above | mentioned below | explained below | explained above | shown below | shown above | described above | right now | you are right | you're right | that's right | that is right | all right | right after | right before | happy to help | happy to answer | happy to assist | be happy to | glad to help | happy to explain"
    ),
    yes=_("yes | yeah | yep | yup | yes indeed | affirmative | correct"),
    no=_("no | nope | nah | negative"),
    true=_("true | correct | right"),
    false=_("false | incorrect | wrong | untrue"),
    bound=_(
        "at least | at most | more than | less than | fewer than | greater than | larger than | smaller than | over | under | above | below | up to | no more than | no less than | no fewer than | not more than | not less than | minimum of | maximum of | between | from | almost | nearly | beyond | exceeds | exceeding | or more | or less | or fewer | multiple of | half of | twice | times | minus | plus | a minimum of | a maximum of | upwards of | not | close to | roughly between | before | after | since | prior to | later than | earlier than | past | o'clock"
    ),
    label=_(
        "figure | fig | fig. | table | page | step | question | image | picture | photo | panel | chapter | section | part | line | row | column | number | level | grade | version | group | team | room | gate | plan | phase | stage | vitamin | hepatitis | point | vertex | angle | side | box | chart | graph | diagram | exhibit | appendix | note | example | exercise | problem | channel | route | bus | track | platform | floor | building | unit | block | zone | series | episode | season | volume | act | scene | article | footnote | reference | ref | equation | eq | eq. | rule | # | nr | vol | ch | pp | p | lot"
    ),
    modifier=_(
        "red | green | blue | yellow | orange | purple | pink | brown | black | white | gray | grey | beige | golden | gold | silver | dark | light | pale | bright | big | small | large | little | tiny | huge | giant | tall | short | long | old | young | new | adult | baby | single | lone | real | actual | typical | common | domestic | domesticated | pet | wild | cute | beautiful | lovely | nice | happy | sad | sleeping | sitting | standing | running | walking | lying | smiling | resting | left | right | top | bottom | upper | lower | middle | central | center | centre | front | back | same | other | different | male | female | three | two | one | four | five | several | many | round | square | flat | thick | thin | wide | narrow | heavy | cold | warm | cool | wet | dry | clean | dirty | full | empty | open | closed | modern | ancient | plain | simple | whole | entire | main | major | minor | medium | medium-sized | fluffy | furry | striped | spotted | brown-and-white | wooden | metal | plastic | fast | slow | high | low | certain | clear | obvious | pure | some | raw | fresh | solid | liquid | ordinary | regular | normal | standard | classic | traditional | famous | well-known | genuine | mere | particular | specific"
    ),
    modifier_endings=_("ed | ish | ful | ous | ly | ish-looking | coloured | colored | looking | ing"),
    abstain=_(
        "cannot determine | can't determine | cannot be determined | can't be determined | unable to | not possible to | impossible to | not enough information | insufficient information | don't know | do not know | no idea | not sure | unsure | cannot tell | can't tell | can't see | cannot see | i'm sorry | i am sorry | decline | refuse | cannot answer | can't answer | blurry | none of the above | none of the options"
    ),
    match=_(
        "matches | match | matching | fits | fit | best describes | best matches | best fits | corresponds to | corresponds | satisfies | checks out | wins | makes sense | makes the most sense | remains | agrees | is supported | is the way to go | described by | stands out | stands out as | supports | support | supporting | suggests | suggest | indicates | indicate | confirms | confirm | sounds right | gets my vote | has my vote | is what | is the one | is where | is who | stands"
    ),
    withdraw=_(
        "or so it seems | or so it seemed | or so i thought | suggests otherwise | suggest otherwise | says otherwise | say otherwise | indicates otherwise | indicate otherwise | said no one | wait | scratch that | on second thought | on second thoughts | just kidding | kidding | my mistake | my bad | i made a mistake | i made an error | i was wrong | i stand corrected | hold on | hang on | strike that | never mind | nevermind | changed my mind | change my mind | disregard | ignore that | no longer think so | no longer think | was a mistake | not so fast | take that back | i take it back | rejected it | i don't trust | let me reconsider | reconsidering | let me rethink | that's wrong | that is wrong | that's not right | that is not right | that's incorrect | that is incorrect | can't be it | cannot be it | can't be right | cannot be right | doesn't seem right | don't think so | do not think so | i have my doubts | i am not convinced | i'm not convinced | i disagree | i don't agree | i do not agree | cannot verify | can't verify | can't confirm | cannot confirm | not sure any more | not sure anymore | no longer sure | i misread | misread | or maybe not | or not | now i'm not sure | i am not so sure | i'm not so sure | i don't trust that | not convinced | i'm skeptical | i'm sceptical | i am skeptical | i take back what i said | take back what i said | then again | forget that | forget it | forget what i said | forget i said | ignore this | ignore my | a joke | joking | i lied | not anymore | not any more | i no longer | can't commit | cannot commit | won't commit"
    ),
    person=_(
        "annotator | annotators | labeler | labeller | someone | somebody | student | students | teacher | teachers | friend | friends | colleague | colleagues | classmate | classmates | user | users | person | people | others | expert | experts | author | authors | annotator | annotators | human | humans | brother | sister | mother | father | mom | dad | reviewer | reviewers | respondent | respondents | textbook | gpt | gpt-4 | chatgpt | gemini | claude | llama | everyone | everybody | majority | viewer | viewers | reader | readers | assistant | professor | neighbor | neighbour | coworker | guide | bob | alice | tom | john | mary"
    ),
    opinion=_(
        "labelled | labeled | annotated | tagged | say | says | said | think | thinks | thought | believe | believes | believed | answer | answers | answered | claim | claims | claimed | argue | argues | argued | suggest | suggests | suggested | guess | guesses | guessed | guessed that | tell | tells | told | insist | insists | insisted | choose | chooses | chose | pick | picks | picked | select | selects | selected | prefer | prefers | preferred | voted | votes | vote | went with | goes with | put | wrote | marked | recommends | recommended | lists | listed | assumes | assumed | asserted | asserts | mistake | confuse | confuse it | would go | opinion | view | judgment | judgement | verdict | choice | went for | goes for | go for"
    ),
    also=_(
        "equally possible | equally likely | equally plausible | also possible | just as likely | just as possible | also be | just as well be | also correct | also plausible | also works | also fits | also fit | also right | too | as well | so is | so are | so does | so do | and so is"
    ),
    concede=_(
        "although | though | even though | while | despite | whereas | albeit | granted | admittedly | much as"
    ),
    self=_("i | i'd | i'll | i'm | i've | my | we | we'd | our | let's | let me"),
    according=_("according to | in the words of | in the opinion of | as per | per my | in the view of"),
    source=_(
        "image | picture | photo | photograph | chart | map | figure | legend | table | question | text | diagram | graph | data | description | scene | screenshot | sign | label | scale | axis | plot | document | passage | information | rules | rule | definition | law | laws | context | visual | evidence | drawing | illustration | poster | receipt | menu | page | report | clock | calendar | options | shown | given | caption | title | headline | banner | board | screen | display | ticket | card | box | package | bottle | shirt | book | note | message | plate | meter | scoreboard | tag | sticker | logo | signs | writing | word | inscription | shows that | show that | showing that | proves that | prove that | means that | mean that | follows that | implies that | imply that | demonstrates that | clear that | obvious that | evident that | see that | tells me that | tell me that | tells us | tell us | tells me | find that | no question that | safe to say"
    ),
    would=_("would | would be | would have | would've | would look | would also | has | have | had"),
    ordinals=_(
        "first/1st | second/2nd | third/3rd | fourth/4th | fifth/5th | sixth/6th | seventh/7th | eighth/8th | last"
    ),
    says=_(
        "explained | explains | replied | replies | remarked | shouted | stated | noted | commented | added | whispered | exclaimed | asked | says | said | believes | thinks | calls | claims | tells | reckons | suspects | guesses | assumes | swears | argues"
    ),
    verb_endings=_("s | ing | ly"),
    about=_(
        "about | around | approximately | roughly | approx | circa | some | an estimated | estimated | or so | or thereabouts | ish | give or take"
    ),
    none=_(
        "none of them | none of these | none of those | none of the options | none of the choices | none of the answers | none of the given | none of the listed | none of the above | no option is | no answer is correct | no option fits | no option matches | neither option | not any of the options | no correct answer | no correct option | no right answer | isn't any of | not any of these | not any of them"
    ),
    too=_("too"),
)

CHINESE = Language(
    name="Chinese",
    ordinals=_("第一个 | 第二个 | 第三个 | 第四个 | 第五个 | 最后一个"),
    listing=_("选项如下 | 各选项 | 各个选项 | 每个选项 | 四个选项 | 所有选项 | 选项有 | 选项包括 | 选项分别"),
    total=_("一共 | 总共 | 共 | 共有 | 合计 | 共计 | 总计 | 总数 | 加起来 | 合起来"),
    present=_("有 | 看到 | 能看到"),
    absent=_("没有 | 没 | 看不到 | 不是 | 不"),
    at_least=_("至少 | 最少 | 不少于 | 不低于 | 不小于 | 起码"),
    at_most=_("至多 | 最多 | 不超过 | 不多于 | 不大于"),
    more_than=_("超过 | 多于 | 大于 | 高于 | 不止"),
    less_than=_("少于 | 小于 | 低于 | 不到 | 不足 | 将近 | 接近"),
    or_more=_("以上 | 及以上"),
    or_less=_("以下 | 及以下"),
    and_more=_("多 | 余"),
    reference=_("图 | 表 | 第 | 步骤 | 选项"),
    answer=_("答案 | 正确答案 | 最终答案 | 答 | 解答 | 正解"),
    option=_("选项 | 项 | 选择题 | 这一项 | 一项 | 选項 | 選項 | 字母"),
    copula=_(
        "是 | 为 | 為 | 应该是 | 应为 | 应是 | 就是 | 即为 | 即 | 等于 | 只能是 | 必须是 | 一定是 | 便是 | 乃 | 显然是 | 应当是 | 該是 | 應該是 | 應為"
    ),
    pronoun=_(
        "这 | 它 | 此 | 该 | 那 | 这个 | 图中 | 图片中 | 图片 | 图像 | 本题 | 此题 | 该题 | 这题 | 這 | 圖中"
    ),
    choose=_(
        "选 | 选择 | 选定 | 选取 | 挑 | 选的是 | 應選 | 選 | 選擇 | 故选 | 更正为 | 改为 | 改选 | 指向 | 支持 | 剩下 | 只剩 | 只剩下 | 留下 | 投 | 倾向于 | 倾向 | 倾向选"
    ),
    believe=_(
        "我认为 | 认为 | 觉得 | 我觉得 | 我猜 | 看来 | 推断 | 判断 | 我想 | 我相信 | 个人认为 | 我認為 | 猜测"
    ),
    right=_(
        "正确 | 对 | 对的 | 正確 | 最佳 | 最好 | 合适 | 最合适 | 合理 | 最合理 | 符合 | 最符合 | 准确 | 最准确 | 相符 | 匹配 | 吻合 | 成立 | 恰当 | 最恰当 | 贴切 | 没错 | 无误"
    ),
    only=_("只有 | 仅有 | 唯有 | 仅 | 唯一"),
    conclude=_(
        "所以 | 因此 | 故 | 综上 | 综上所述 | 由此可知 | 可知 | 于是 | 总之 | 最终 | 最后 | 结论 | 因而 | 从而 | 由此可见 | 可见 | 总结 | 那么 | 因此可知 | 故而 | 结果 | 結論 | 則 | 则"
    ),
    reason=_("因为 | 由于 | 原因 | 理由 | 因 | 根据 | 依据 | 因為 | 解析 | 解释 | 说明"),
    wrong=_(
        "错 | 错误 | 错的 | 不对 | 不正确 | 有误 | 不符 | 不符合 | 不成立 | 不合适 | 不合理 | 不准确 | 被排除 | 排除掉 | 可排除 | 可以排除 | 不匹配 | 不可能 | 不行 | 不存在 | 太多 | 太少 | 太大 | 太小 | 過多 | 錯 | 錯誤 | 不對 | 不吻合 | 无关 | 看不到 | 看不见 | 干扰项 | 不恰当 | 都不对 | 不够"
    ),
    deny=_(
        "不是 | 并非 | 不选 | 不能选 | 不应选 | 不应该选 | 不该选 | 不要选 | 排除 | 没有 | 没 | 不 | 并不是 | 不会是 | 不可能是 | 绝非 | 看不到 | 看不见 | 见不到 | 不为 | 不能是 | 不包括 | 不包含 | 既不 | 也不 | 不見 | 並非 | 沒有 | 不選 | 否定 | 别选 | 绝不是 | 不会 | 都不是 | 也不是 | 非是 | 没人 | 没有人 | 谁会"
    ),
    deny_next=_("而不是 | 而非 | 除了 | 除 | 不同于 | 相比"),
    doubt=_(
        "怀疑 | 不确定是否 | 不确定是不是 | 不认为 | 不觉得 | 未必 | 不一定 | 是否 | 是不是 | 难说 | 不敢肯定 | 无法确定"
    ),
    possible=_("可能 | 也许 | 或许 | 有可能 | 说不定 | 恐怕 | 没准"),
    condition=_("如果 | 假如 | 若 | 若是 | 假设 | 倘若 | 要是 | 除非 | 假若 | 的话 | 取决于 | 視"),
    report=_(
        "据说 | 听说 | 网上说 | 有人说 | 常见错误 | 可能会认为 | 可能会选 | 容易误选 | 容易认为 | 有人告诉我 | 告诉我"
    ),
    given_up=_(
        "一开始 | 起初 | 最初 | 原本 | 本来 | 原以为 | 以为 | 我曾 | 之前 | 乍一看 | 乍看 | 刚开始 | 开始我 | 起先 | 差点 | 我原先 | 原先 | 第一眼 | 初看 | 表面上"
    ),
    consider=_(
        "看看 | 考虑 | 检查 | 分析 | 来看 | 比较 | 对比 | 先看 | 再看 | 验证 | 评估 | 看一下 | 关于 | 至于 | 对于 | 相比 | 像 | 比起"
    ),
    correction=_("更正 | 不 | 抱歉 | 修正 | 实际上 | 其实 | 纠正 | 应该说 | 仔细看 | 改成"),
    contrast=_(
        "但 | 但是 | 然而 | 可是 | 不过 | 而是 | 其实 | 实际上 | 却 | 反而 | 后来发现 | 后来 | 结果发现 | 才发现 | 仔细一看 | 仔细看 | 细看"
    ),
    otherwise=_("否则 | 不然 | 反之 | 要不然"),
    neutral=_(
        "不仅 | 不但 | 毫无疑问 | 无疑 | 没问题 | 不用说 | 如果非要 | 如果必须 | 如果一定要 | 不难看出 | 不难发现 | 无误 | 没错 | 其他选项 | 其余选项 | 其他三项 | 其余 | 不错 | 一定 | 毋庸置疑 | 不论 | 无论 | 不管 | 选项中 | 非常 | 有误差 | 而且 | 对应 | 对比度 | 对面 | 错落 | 若干 | 好像 | 图像 | 对比 | 说法 | 可以说 | 说明 | 也就是说 | 换句话说 | 应该说 | 小说 | 就是说 | 来说"
    ),
    either=_("或 | 或者 | 还是 | 抑或 | 要么"),
    both=_("和 | 与 | 及 | 以及 | 、 | 都 | 跟 | 且 | 同"),
    article=_(
        "一个 | 一只 | 一条 | 一匹 | 一张 | 一辆 | 一把 | 一种 | 一位 | 一名 | 一座 | 一朵 | 一棵 | 一本 | 一件 | 一幅 | 一群 | 一艘 | 一架 | 一台 | 一块 | 一片 | 两只 | 只 | 个 | 的 | 了"
    ),
    filler=_(
        "很明显 | 明显 | 显然 | 确实 | 应该 | 应当 | 应 | 最 | 就 | 的 | 我 | 我们 | 本题 | 大概 | 很可能 | 最可能 | 一定 | 肯定 | 当然 | 会 | 要 | 能 | 可以 | 了 | 吧 | 啊 | 呢 | 题目 | 此题 | 为准 | 综合 | 来看 | 这里 | 直接 | 选 | 将 | 把 | 以 | 知 | 地 | 毫无疑问 | 无疑 | 其中 | 这 | 那 | 它 | 一项 | 中"
    ),
    function=_(
        "第一个 | 第二个 | 第三个 | 第四个 | 第五个 | 最后一个 | 图中 | 图片 | 画面 | 照片 | 图像 | 里 | 中 | 上 | 下 | 有 | 在 | 显示 | 展示 | 看到 | 可以看到 | 看见 | 是 | 的 | 了 | 着 | 这 | 那 | 它 | 一 | 只 | 个 | 位于 | 出现 | 动物 | 物体 | 颜色 | 为 | 于 | 到 | 从 | 和 | 与 | 呈 | 正在 | 坐 | 站 | 躺 | 左边 | 右边 | 主要 | 属于 | 被 | 来自 | 叫做 | 叫 | 称为 | 位 | 名"
    ),
    yes=_("是 | 是的 | 对 | 对的 | 有 | 可以 | 没错 | 會 | 正确"),
    no=_("否 | 不 | 不是 | 没有 | 不对 | 不是的 | 沒有 | 不可以 | 错误"),
    true=_("正确 | 对 | 真 | 是真的 | 属实"),
    false=_("错误 | 错 | 假 | 不正确 | 不对 | 不属实"),
    bound=_(
        "至少 | 最多 | 至多 | 超过 | 不到 | 不足 | 多于 | 少于 | 大于 | 小于 | 高于 | 低于 | 不超过 | 不少于 | 不小于 | 不大于 | 将近 | 接近 | 以上 | 以下 | 介于 | 起码"
    ),
    label=_("图 | 表 | 第 | 页 | 题 | 步骤"),
    abstain=_(
        "无法 | 不能判断 | 不能确定 | 不知道 | 不确定 | 不清楚 | 看不清 | 看不到 | 看不出 | 抱歉 | 对不起 | 难以 | 無法"
    ),
    person=_(
        "有人 | 别人 | 他人 | 有的人 | 有些人 | 很多人 | 许多人 | 大家 | 人们 | 同学 | 学生 | 老师 | 朋友 | 小明 | 小红 | 小李 | 小王 | 他 | 她 | 他们 | 她们 | 网友 | 用户 | 题主 | 另一个模型 | 其他模型 | 专家 | 同事 | 网上 | 部分人 | 多数人"
    ),
    opinion=_(
        "说 | 认为 | 觉得 | 选 | 选择 | 选了 | 猜 | 回答 | 以为 | 主张 | 坚持 | 声称 | 答 | 误选 | 误以为 | 会选 | 填"
    ),
    withdraw=_("等等 | 等一下 | 不对 | 说错了 | 我错了 | 搞错了 | 开玩笑 | 口误 | 重新考虑 | 再想想 | 收回"),
    match=_("符合 | 最符合 | 相符 | 匹配 | 吻合 | 成立"),
    also=_("也有可能 | 也可能 | 同样可能 | 也对 | 也正确"),
    concede=_("虽然 | 尽管 | 虽 | 即使"),
    self=_("我 | 我们 | 本人"),
    according=_("据他 | 据她 | 照他 | 按他 | 听他 | 用他的话"),
    source=_("图片 | 图表 | 图 | 地图 | 表格 | 题目 | 文本 | 数据"),
    says=_("说 | 声称 | 告诉"),
    about=_("大约 | 大概 | 约 | 左右 | 差不多"),
    none=_("都不是 | 都不对 | 都不正确 | 都不符合 | 没有一个 | 没有正确答案 | 没有正确的选项"),
)

JAPANESE = Language(
    name="Japanese",
    listing=_("各選択肢 | それぞれの選択肢 | 選択肢は次の | 全ての選択肢"),
    total=_("合計 | 全部で | 合わせて | 計"),
    present=_("あります | います | 写っています"),
    absent=_("ありません | いません | ない | 見えません"),
    at_least=_("少なくとも | 最低"),
    at_most=_("多くても | 最大"),
    or_more=_("以上"),
    or_less=_("以下"),
    and_less=_("未満"),
    reference=_("図 | 表 | 第 | 問"),
    numbers=_(
        "ゼロ | ひとつ/一つ | ふたつ/二つ | みっつ/三つ | よっつ/四つ | いつつ/五つ | むっつ/六つ | ななつ/七つ | やっつ/八つ | ここのつ/九つ | とお"
    ),
    answer=_("答え | 正解 | 回答 | 解答 | 正答 | 答 | こたえ | 最終回答 | 最終的な答え | 正しい答え"),
    option=_("選択肢 | 選択 | 番 | 記号 | 肢 | 項目 | オプション"),
    copula=_(
        "は | が | です | である | だ | でしょう | だろう | となります | になります | と思います | だと思います | となる | に違いありません | に違いない | で間違いありません | だと考えられます"
    ),
    pronoun=_("これ | それ | この画像 | この動物 | 画像 | 写真 | この写真"),
    choose=_(
        "選びます | 選ぶ | 選んだ | 選択します | を選び | を選択 | にします | を選 | 選択する | 選びました | とします | が残ります | が残る | 残るのは | 残り"
    ),
    believe=_(
        "と思います | 思います | だと思う | と思う | と考えます | と考えられます | と判断します | と判断 | おそらく | たぶん"
    ),
    right=_(
        "正しい | 正解 | 適切 | 最適 | 最も適切 | 一致 | 一致します | 合っています | 合致 | 当てはまります | 当てはまる | 該当 | 該当します | 最も近い | ふさわしい | 正しく | 妥当"
    ),
    only=_("だけ | のみ | 唯一"),
    conclude=_(
        "したがって | よって | だから | ゆえに | つまり | 以上より | 以上から | 結論 | 結論として | 最終的に | そのため | 従って | ですから | なので | まとめると | 結局"
    ),
    reason=_("なぜなら | 理由 | ため | から | ので | 説明 | 解説"),
    wrong=_(
        "間違い | 誤り | 不正解 | 間違って | 違います | 違う | 誤って | 不適切 | 除外 | 除外します | 除外され | 除外でき | 消去 | 当てはまりません | 当てはまらない | 一致しません | 一致しない | 合いません | 合わない | ありえません | ありえない | 多すぎ | 少なすぎ | 大きすぎ | 小さすぎ | 該当しません | 正しくありません | 正しくない | 見えません | 見えない | 見当たりません | 写っていません | いません | ありません | いない"
    ),
    deny_next=_("以外"),
    deny_last=_(
        "ではない | ではなく | ではなくて | じゃない | じゃなくて | じゃなく | ではありません | じゃありません | ではないです | でない | でなく | でもない | でもなく | でもありません | とは言えない | とは言えません | ではなかった | よりも | より | とは思えない | とは思えません | とは思いません | はない | はいない | はいません | がいません | はありません | がありません"
    ),
    doubt=_("疑わしい | かどうか | とは限らない | とは限りません | 疑問 | わかりません | 分かりません"),
    possible=_("かもしれない | かもしれません | 可能性 | もしかすると | もしかしたら | ひょっとすると"),
    condition=_("もし | ならば | であれば | 場合は | 場合 | だったら | なら、 | とすれば | 仮に | とすると"),
    report=_(
        "と言った | と言っています | と言われて | と言いました | らしい | そうだ | 人もいる | と答える人 | と言う人 | という人 | と考える人 | と思う人 | を選ぶ人"
    ),
    given_up=_(
        "最初は | 最初 | 初めは | はじめは | 当初 | と思った | と思いました | と思っていました | 一見 | だと思っていた | と思っていた | かと思った | かと思いました | だと思いました | だと思った"
    ),
    consider=_("確認 | 検討 | 見てみ | 考えてみ | 比べ | 比較 | 調べ | について"),
    correction=_("いや | いいえ | 訂正 | 失礼 | すみません | やはり | やっぱり | 実は | 実際は | 修正"),
    contrast=_(
        "しかし | だが | ですが | けれど | けど | ただし | が、 | 一方 | むしろ | ところが | 実際には | でも、"
    ),
    otherwise=_("そうでなければ | さもなければ | それ以外"),
    neutral=_(
        "間違いなく | 間違いありません | 間違いない | に違いありません | に違いない | 疑いなく | 疑いの余地 | だけでなく | それ以外の選択肢 | 他の選択肢 | その他の選択肢 | かなり | となり | になり | 正解は | ように | より正確 | から判断 | ことから"
    ),
    either=_("または | もしくは | あるいは | か、 | か"),
    both=_("と | および | 及び | 両方 | も | そして | 、"),
    filler=_(
        "は | が | を | の | に | で | も | です | である | だ | ます | 私 | 私は | 最も | もっとも | 明らかに | 確かに | おそらく | たぶん | きっと | 間違いなく | でしょう | した | こと | もの | この | その | 問題 | この問題 | と | する | します | よって | 正しい | 番 | よ | ね | 記号 | 一番 | になり | となり | 最終"
    ),
    function=_(
        "は | が | を | の | に | で | も | と | へ | です | ます | ある | いる | います | あります | 写っている | 写って | 見える | 見えます | 画像 | 写真 | 図 | 動物 | この | その | これ | それ | 中 | 上 | 下 | 色 | いる | こと | もの | 匹 | 頭 | 個 | 本 | 枚 | 人 | つ | 台 | 羽"
    ),
    yes=_("はい | ええ | うん | そうです"),
    no=_("いいえ | いえ | いや | ちがいます | 違います"),
    true=_("正しい | 真 | 本当 | 正しいです"),
    false=_("誤り | 偽 | 間違い | 正しくない | 間違っています"),
    bound=_("少なくとも | 最低 | 最大 | 以上 | 以下 | 未満 | 超 | より多い | より少ない | 多くとも"),
    label=_("図 | 表 | 第 | 問"),
    abstain=_(
        "わかりません | 分かりません | 判断できません | 判断できない | 申し訳 | 不明 | 特定できません | 答えられません | 確認できません"
    ),
    person=_(
        "誰か | 友人 | 友達 | 学生 | 生徒 | 先生 | 彼 | 彼女 | 多くの人 | 人々 | 他の人 | 他のモデル | 同僚 | ユーザー | ある人 | みんな"
    ),
    opinion=_("言 | 思 | 考え | 選 | 答え | 主張 | 述べ | 選択"),
    match=_("一致 | 一致します | 当てはまります | 当てはまる | 該当 | 該当します | 合致 | 合っています"),
    withdraw=_("待って | 待ってください | 間違えました | ちょっと待って | 撤回"),
    copula_last=_(
        "です | だ | である | でしょう | だろう | だと思います | と思います | になります | となります | ですね | ですよ | と考えられます | だと考えられます | と判断します | に違いありません | に違いない"
    ),
    self=_("私 | 僕 | 俺 | 我々"),
    concede=_("にもかかわらず | とはいえ | ものの"),
    according=_("によると | によれば | に言わせると"),
    source=_("画像 | 写真 | グラフ | 図 | 地図 | 凡例 | 表 | 問題 | 文章 | データ | この画像 | この写真"),
    says=_("と言う | と言った | と言って | と言い | と主張"),
    about=_("約 | およそ | くらい | ぐらい | ほど | 前後"),
    deny=_("誰も"),
    none=_("どれも | いずれも | どれでもない"),
)

KOREAN = Language(
    name="Korean",
    listing=_("각 선택지 | 선택지는 다음"),
    total=_("모두 | 총 | 합계 | 합쳐서 | 전부"),
    present=_("있습니다 | 있어요 | 보입니다"),
    absent=_("없습니다 | 없어요 | 없다 | 보이지 않"),
    at_least=_("최소 | 적어도"),
    at_most=_("최대 | 많아야"),
    less_than=_("거의"),
    or_more=_("이상"),
    or_less=_("이하"),
    and_more=_("초과 | 보다 많"),
    and_less=_("미만"),
    reference=_("그림 | 표 | 제"),
    numbers=_(
        "영/공 | 하나/한 | 둘/두 | 셋/세 | 넷/네 | 다섯 | 여섯 | 일곱 | 여덟 | 아홉 | 열 | 열하나/열한 | 열둘/열두 | 열셋/열세 | 열넷/열네 | 열다섯 | 열여섯 | 열일곱 | 열여덟 | 열아홉 | 스물/스무"
    ),
    tens=_(
        "스물/스무/이십 | 서른/삼십 | 마흔/사십 | 쉰/오십 | 예순/육십 | 일흔/칠십 | 여든/팔십 | 아흔/구십"
    ),
    tens_and=_("{ten}{unit}"),
    last_units=_("일=1 | 이=2 | 삼=3 | 사=4 | 오=5 | 육=6 | 칠=7 | 팔=8 | 구=9"),
    scales=_("백 | 천 | 만"),
    answer=_("정답 | 답 | 답변 | 해답 | 최종 답 | 최종 답변 | 올바른 답"),
    option=_("선택지 | 보기 | 번 | 옵션 | 선지 | 항목 | 문항"),
    copula=_(
        "은 | 는 | 이 | 가 | 입니다 | 이다 | 이에요 | 예요 | 일 것입니다 | 이라고 생각합니다 | 라고 생각합니다 | 이라고 | 라고 | 임 | 다 | 이며 | 이고 | 로 | 으로"
    ),
    pronoun=_("이것 | 그것 | 이 동물 | 이 그림 | 그림 | 사진 | 이미지 | 여기 | 저것"),
    choose=_(
        "선택합니다 | 선택하겠습니다 | 고르겠습니다 | 고릅니다 | 선택 | 택하겠습니다 | 택합니다 | 골랐습니다 | 남습니다 | 남는다 | 뽑겠습니다 | 하겠습니다"
    ),
    believe=_(
        "생각합니다 | 생각해요 | 봅니다 | 것 같습니다 | 것 같아요 | 판단됩니다 | 판단합니다 | 보입니다 | 추측합니다"
    ),
    right=_(
        "맞습니다 | 맞다 | 맞아요 | 옳습니다 | 옳다 | 올바른 | 올바릅니다 | 정확 | 정확합니다 | 적절 | 적절합니다 | 적합 | 적합합니다 | 일치 | 일치합니다 | 해당 | 해당합니다 | 가장 적절 | 알맞은 | 알맞습니다 | 맞는 | 옳은"
    ),
    only=_("만 | 오직 | 유일한 | 유일하게 | 뿐"),
    conclude=_(
        "따라서 | 그러므로 | 그래서 | 결론 | 결론적으로 | 결국 | 즉 | 최종 | 최종적으로 | 그렇다면 | 그렇기 때문에 | 요약하면 | 종합하면"
    ),
    reason=_("왜냐하면 | 때문 | 이유 | 근거 | 설명 | 므로"),
    wrong=_(
        "틀렸습니다 | 틀리다 | 틀린 | 틀림 | 틀렸 | 오답 | 잘못 | 잘못된 | 제외 | 제외됩니다 | 제외합니다 | 제외하면 | 배제 | 배제됩니다 | 맞지 않습니다 | 맞지 않 | 옳지 않 | 옳지 않습니다 | 적절하지 않 | 일치하지 않 | 정확하지 않 | 해당하지 않 | 부적절 | 불가능 | 너무 많 | 너무 적 | 너무 크 | 너무 작 | 없습니다 | 없다 | 없어요 | 보이지 않 | 부정확"
    ),
    deny_last=_(
        "아니다 | 없습니다 | 없어요 | 없다 | 아닙니다 | 아니라 | 아니고 | 아니에요 | 아니며 | 아닌 | 아니요 | 아님 | 이 아니 | 가 아니 | 아닐 | 보다는 | 대신 | 말고 | 이외 | 아니"
    ),
    doubt=_("의심 | 인지 모르 | 인지 확실하지 | 확실하지 않 | 모르겠 | 생각하지 않"),
    possible=_("수도 있 | 가능성 | 지도 모르 | 일지도 모르"),
    condition=_("만약 | 만일 | 이라면 | 라면 | 였다면 | 했다면 | 경우에는 | 다면"),
    report=_("라고 말했 | 고 말했 | 라고 합니다 | 라고들"),
    given_up=_(
        "처음에는 | 처음에 | 처음엔 | 처음 | 원래 | 생각했 | 언뜻 | 얼핏 | 당초 | 인 줄 알았 | 줄 알았 | 이전에 | 라고 생각했 | 다고 생각했 | 줄로 알았"
    ),
    consider=_("살펴보 | 확인해 | 확인하 | 검토 | 고려 | 비교 | 볼까요 | 보겠습니다 | 대해 | 분석"),
    correction=_("아니요 | 아니오 | 정정 | 수정 | 죄송 | 다시 보니 | 사실은 | 사실 | 실제로는"),
    contrast=_("하지만 | 그러나 | 그런데 | 지만 | 그렇지만 | 오히려 | 다만 | 사실은 | 반면 | 는데"),
    otherwise=_("그렇지 않으면 | 아니면"),
    neutral=_(
        "의심할 여지 없이 | 의심의 여지가 없 | 의심의 여지 | 틀림없이 | 틀림없 | 뿐만 아니라 | 나머지 | 다른 선택지 | 다른 보기 | 다름 아닌 | 이유는 | 보이는"
    ),
    either=_("또는 | 혹은 | 이나 | 거나 | 아니면"),
    both=_("와 | 과 | 및 | 그리고 | 둘 다 | 하고 | 모두"),
    filler=_(
        "은 | 는 | 이 | 가 | 을 | 를 | 의 | 도 | 에 | 로 | 으로 | 가장 | 분명히 | 확실히 | 명확히 | 아마 | 제 | 저는 | 나는 | 제가 | 이 문제의 | 문제의 | 문제 | 매우 | 바로 | 것 | 것은 | 것이 | 인 | 입니다 | 당연히 | 명백히 | 틀림없이 | 최종 | 번 | 요 | 아마도"
    ),
    function=_(
        "은 | 는 | 이 | 가 | 을 | 를 | 의 | 도 | 에 | 에서 | 있습니다 | 있다 | 있는 | 보입니다 | 보이는 | 그림 | 사진 | 이미지 | 동물 | 한 | 마리 | 개 | 명 | 색 | 입니다 | 이다 | 에는 | 이에요 | 예요 | 과 | 와 | 것 | 수"
    ),
    yes=_("예 | 네 | 그렇습니다 | 맞습니다 | 응"),
    no=_("아니요 | 아니오 | 아닙니다"),
    true=_("참 | 맞다 | 사실"),
    false=_("거짓 | 틀리다"),
    bound=_("적어도 | 최소 | 최대 | 이상 | 이하 | 미만 | 초과 | 보다 많 | 보다 적 | 넘는"),
    label=_("그림 | 표 | 제"),
    abstain=_("알 수 없 | 모르겠 | 죄송 | 판단할 수 없 | 확인할 수 없 | 답할 수 없"),
    person=_(
        "누군가 | 친구 | 학생 | 선생님 | 사람들 | 많은 사람 | 어떤 사람 | 다른 사람 | 그는 | 그녀는 | 다른 모델 | 사용자 | 동료 | 일부"
    ),
    opinion=_("말 | 했 | 생각 | 선택 | 골랐 | 답했 | 주장 | 라고 | 고른 | 답한 | 대답"),
    withdraw=_("잠깐 | 잠깐만 | 실수 | 다시 생각"),
    match=_("일치 | 일치합니다 | 해당 | 해당합니다 | 맞습니다"),
    copula_last=_(
        "입니다 | 이다 | 이에요 | 예요 | 일 것입니다 | 라고 생각합니다 | 이라고 생각합니다 | 로 보입니다 | 인 것 같습니다 | 임"
    ),
    self=_("저는 | 나는 | 제가 | 저의 | 제"),
    concede=_("비록 | 불구하고"),
    according=_("에 따르면 | 말에 따르면 | 말로는 | 의 말로"),
    source=_("이미지 | 그림 | 사진 | 그래프 | 지도 | 범례 | 표 | 문제 | 자료 | 데이터 | 도표 | 이 그림"),
    says=_("라고 말 | 다고 말 | 라고 주장 | 라고 했"),
    about=_("약 | 대략 | 정도 | 쯤"),
    deny=_("아무도"),
    none=_("모두 아니 | 모두 아닙 | 정답이 없 | 해당하는 것이 없"),
)

FRENCH = Language(
    name="French",
    ordinals=_("première/premier | deuxième/seconde/second | troisième | quatrième | dernière/dernier"),
    listing=_("options | chaque option | propositions | possibilités"),
    total=_("au total | en tout | total | somme"),
    present=_("il y a | je vois"),
    months=_(
        "janvier | février | mars | avril | mai | juin | juillet | août | septembre | octobre | novembre | décembre"
    ),
    at_least=_("au moins | au minimum"),
    at_most=_("au plus | jusqu'à | au maximum"),
    more_than=_("plus de | plus que"),
    less_than=_("moins de | moins que | presque"),
    or_more=_("ou plus"),
    or_less=_("ou moins"),
    reference=_("figure | tableau | page | étape | question | image | option"),
    numbers=_(
        "zéro | un/une | deux | trois | quatre | cinq | six | sept | huit | neuf | dix | onze | douze | treize | quatorze | quinze | seize | dix-sept | dix-huit | dix-neuf | vingt"
    ),
    counts_on=_("60 | 80"),
    tens=_(
        "vingt | trente | quarante | cinquante | soixante | septante | quatre-vingt/quatre-vingts/huitante/octante | nonante"
    ),
    tens_and=_("{ten} {unit} | {ten} et {unit}"),
    last_units=_("onze=11"),
    scales=_("cent | cents | mille | million | millions | milliard | milliards"),
    answer=_(
        "réponse | reponse | réponses | solution | réponse finale | bonne réponse | réponse correcte | résultat | la réponse"
    ),
    option=_(
        "option | l'option | lettre | la lettre | choix | proposition | alternative | possibilité | cas | item | l'alternative"
    ),
    copula=_(
        "est | c'est | serait | doit être | sera | était | semble être | semble | paraît être | devrait être | ne peut être que | sont | ce serait | est donc | peut être | s'agit | ressemble"
    ),
    pronoun=_("c'est | ce | ceci | cela | il | elle | ça | celle | celui | l'animal | l'image | on"),
    choose=_(
        "choisis | choisi | choisir | je choisis | sélectionne | je sélectionne | opte pour | j'opte pour | je prends | je dirais | dirais | je réponds | retiens | je retiens | choisissons | je vote pour | coche | il reste | reste | ne reste que | il ne reste que | on choisit | je penche pour | garde | correspond à | choisirais | je choisirais"
    ),
    believe=_(
        "je pense | je crois | je pense que c'est | à mon avis | selon moi | je suppose | d'après moi | je crois que c'est | je pense que | je crois que | il me semble | je devine"
    ),
    right=_(
        "correcte | correct | bonne | bon | exacte | exact | juste | vraie | vrai | meilleure | meilleur | appropriée | approprié | convient | correspond | décrit | valide | adaptée | pertinente | plausible"
    ),
    only=_("seule | seul | uniquement | seulement"),
    conclude=_(
        "donc | ainsi | par conséquent | en conclusion | conclusion | finalement | en conséquence | enfin | d'où | en résumé | au final | alors | bref | du coup | en définitive | final | finale"
    ),
    reason=_(
        "car | parce que | parce qu'il | parce qu'elle | puisque | étant donné | vu que | en raison de | à cause de | comme | explication | qui | avec"
    ),
    wrong=_(
        "fausse | faux | incorrecte | incorrect | erronée | erroné | mauvaise | inexacte | exclue | exclu | éliminée | éliminé | éliminées | exclues | impossible | improbable | absent | absente | écartée | à exclure | à éliminer | invalide | écarté | incorrectes | fausses | ne convient pas | ne convient | tort"
    ),
    deny=_(
        "ne | n'est | n'est pas | pas | ni | non | aucun | aucune | n'y | jamais | n'ai | n'a | n'ont | n'étaient | n'était | ce n'est pas | sans | exclure | éliminer | écarter | j'exclus | j'élimine | élimine | exclut | on élimine | rejette | écarte | n'est ni | n'en | personne | nul"
    ),
    deny_next=_(
        "plutôt que | au lieu de | et non | et non pas | sauf | contrairement à | plutôt qu'un | plutôt qu'une | mais pas | tout sauf | hormis | autre que | à part | par rapport à"
    ),
    doubt=_(
        "doute | je doute | douteux | ne suis pas sûr | pas sûr que | pas certain | je ne sais pas si | je ne pense pas | je ne crois pas | incertain"
    ),
    possible=_(
        "peut-être | pourrait | pourraient | possible | possiblement | éventuellement | il se peut | pourrait être | une possibilité | envisageable"
    ),
    condition=_(
        "si | s'il | s'ils | sauf si | à moins | à condition | en supposant | supposons | au cas où | dans le cas où | dépend | à moins que"
    ),
    report=_(
        "on dit | selon lui | selon elle | il dit | elle dit | on pourrait croire | on pourrait penser | a dit | il pense | elle pense | quelqu'un a dit | certains disent | on pense souvent | on m'a dit | m'a dit | il paraît | paraît-il | on raconte"
    ),
    given_up=_(
        "au début | d'abord | initialement | à première vue | au départ | je pensais | j'ai pensé | je croyais | j'avais pensé | j'ai cru | j'ai d'abord | de prime abord | semblait | auparavant | au premier abord | j'hésitais | aurait été | j'allais | précédemment"
    ),
    consider=_(
        "considérons | considérer | vérifions | vérifier | examinons | examiner | regardons | comparons | comparé à | voyons | analysons | quant à | concernant | entre | évaluons | étudions"
    ),
    correction=_(
        "non | en fait | correction | pardon | désolé | excusez-moi | erreur | plutôt | finalement | ou plutôt | je corrige | oups | rectification | à la réflexion | après réflexion"
    ),
    contrast=_(
        "mais | cependant | toutefois | pourtant | néanmoins | or | en réalité | en fait | par contre | en revanche"
    ),
    otherwise=_("sinon | autrement | dans le cas contraire"),
    neutral=_(
        "sans doute | sans aucun doute | sans hésiter | sans hésitation | nul doute | aucun doute | il n'y a aucun doute | pas de doute | non seulement | ne peut être que | n'est autre que | aucune autre | les autres options | les autres | si je devais | s'il fallait | si je dois | si on regarde | pas seulement | les autres réponses | comme on peut le voir | ne reste que | n'est que"
    ),
    either=_("ou | soit | ou bien"),
    both=_("et | ainsi que | les deux"),
    article=_(
        "un | une | le | la | les | l' | d'un | d'une | du | des | de | mon | ma | notre | cette | cet | ce"
    ),
    filler=_(
        "clairement | certainement | probablement | évidemment | sûrement | bien | très | sans doute | je | j'ai | nous | la plus | le plus | la | le | l' | à | de | d' | dit | correcte | correct | la plus probable | manifestement | ici | à cette question | que | qu'il | en | y | vraisemblablement | sans aucun doute | aussi"
    ),
    function=_(
        "le | la | les | un | une | de | du | des | et | est | dans | sur | sous | l'image | image | photo | il | elle | on | je | vois | voit | y | a | à | en | pas | ne | que | qui | avec | pour | ce | cette | c'est | sont | montre | montré | représente | animal | se | trouve | au | aux | par | d'un | d'une | voici | ici | être | plus | très | très | c'était | tu | vous | nous | la question"
    ),
    yes=_("oui | si | ouais | tout à fait | exactement | en effet"),
    no=_("non | pas du tout | nan"),
    true=_("vrai | exact | juste | vraie"),
    false=_("faux | fausse | inexact"),
    bound=_(
        "au moins | au plus | plus de | moins de | supérieur à | inférieur à | plus que | moins que | entre | jusqu'à | presque | pas plus de | pas moins de | environ entre | au maximum | au minimum | avant | après | depuis"
    ),
    label=_(
        "figure | fig | tableau | page | étape | question | image | numéro | n° | exercice | partie | photo | ligne"
    ),
    modifier=_(
        "petit | petite | grand | grande | gros | grosse | beau | belle | jeune | vieux | vieille | joli | jolie | seul | seule | vrai | même | autre | rouge | vert | bleu | jaune | noir | blanc | gauche | droite | premier | dernier"
    ),
    abstain=_(
        "je ne sais pas | impossible de | je ne peux pas | désolé | pas possible de | je suis désolé | indéterminable | incapable de"
    ),
    person=_(
        "quelqu'un | certains | d'autres | beaucoup | plusieurs | les gens | l'étudiant | étudiant | l'élève | élève | ami | amie | professeur | collègue | utilisateur | l'utilisateur | modèle | expert | experts | camarade | la plupart"
    ),
    opinion=_(
        "dit | disent | pense | pensent | croit | croient | choisi | choisit | choisissent | répondu | répond | répondraient | diraient | affirme | prétend | choisiraient | a choisi | suggère | penseraient"
    ),
    withdraw=_("attendez | attends | je me trompe | je me suis trompé | je plaisante | oubliez | je retire"),
    match=_("convient | correspond | correspond à | décrit | correspond le mieux"),
    that=_("que | qu'il | qu'elle"),
    also=_("également possible | aussi possible | tout aussi possible | pourrait aussi"),
    self=_("je | j'ai | j'opte | mon | ma | nous | moi | pour moi | j'"),
    concede=_("bien que | quoique | même si | malgré | alors que | tandis que"),
    according=_("selon | d'après | au dire de | de l'avis de"),
    source=_(
        "l'image | image | photo | graphique | carte | figure | légende | tableau | question | texte | diagramme | données | schéma | dessin | document | règle | définition | moi | informations | clair que | évident que | montre que | montrent que | signifie que | voit que | constate que | prouve que | indique que | indiquent que"
    ),
    would=_("serait | aurait"),
    says=_("dit | pense | croit | affirme | prétend | disent | pensent"),
    verb_endings=_("t | e | ent | ant"),
    about=_("environ | à peu près | autour de | approximativement"),
    none=_(
        "aucune de ces | aucun de ces | aucune des réponses | aucune des options | aucune réponse | aucune option"
    ),
    too=_("trop"),
)

GERMAN = Language(
    name="German",
    ordinals=_("erste/ersten | zweite/zweiten | dritte/dritten | vierte/vierten | letzte/letzten"),
    listing=_("optionen | antwortmöglichkeiten | möglichkeiten | jede option"),
    total=_("insgesamt | zusammen | summe | gesamt"),
    present=_("es gibt | da ist | ich sehe | man sieht"),
    months=_(
        "januar | februar | märz | april | mai | juni | juli | august | september | oktober | november | dezember"
    ),
    at_least=_("mindestens | wenigstens"),
    at_most=_("höchstens | maximal | bis zu"),
    more_than=_("mehr als | über"),
    less_than=_("weniger als | unter | fast | knapp"),
    or_more=_("oder mehr"),
    or_less=_("oder weniger"),
    reference=_("abbildung | abb | tabelle | seite | schritt | frage | bild"),
    numbers=_(
        "null | eins/ein/eine/einen | zwei/zwo | drei | vier | fünf | sechs | sieben | acht | neun | zehn | elf | zwölf | dreizehn | vierzehn | fünfzehn | sechzehn | siebzehn | achtzehn | neunzehn | zwanzig"
    ),
    tens=_("zwanzig | dreißig/dreissig | vierzig | fünfzig | sechzig | siebzig | achtzig | neunzig"),
    tens_and=_("{unit}und{ten}"),
    last_units=_("ein=1"),
    scales=_(
        "hundert | einhundert | zweihundert | dreihundert | tausend | eintausend | million | millionen | milliarde | milliarden"
    ),
    answer=_(
        "antwort | lösung | ergebnis | endgültige antwort | die antwort | richtige antwort | loesung | antworten"
    ),
    option=_(
        "option | buchstabe | antwortmöglichkeit | auswahl | möglichkeit | wahl | variante | antwortoption | aussage | alternative | buchstaben"
    ),
    copula=_(
        "ist | sind | lautet | wäre | muss | sein | ist also | ist daher | sollte | wird | war | muss sein | scheint | dürfte | heißt | wohl | handelt | zeigt"
    ),
    pronoun=_("es | das | dies | dieses | hier | sie | er | das tier | das bild | es ist | das ist"),
    choose=_(
        "wähle | ich wähle | wählen | entscheide | entscheide mich für | nehme | ich nehme | würde sagen | ich würde sagen | sage | tippe auf | ich tippe auf | bleibt | bleibt nur | es bleibt | übrig bleibt | gewählt | ankreuzen | wählte | votiere für | antworte | bleibe bei | entspricht | setze auf | plädiere für | entscheiden | entscheide ich mich für | wähle ich | würde wählen | auswählen"
    ),
    believe=_(
        "ich denke | ich glaube | ich vermute | meiner meinung nach | ich meine | meines erachtens | ich nehme an | denke ich | glaube ich | vermutlich | ich schätze"
    ),
    right=_(
        "richtig | richtige | korrekt | korrekte | stimmt | passt | zutreffend | trifft zu | beste | am besten | wahr | passende | passend | entspricht | geeignet | beschreibt | richtigen | zutreffende | plausibel | plausibelste | am wahrscheinlichsten"
    ),
    only=_("nur | einzig | ausschließlich | einzige | lediglich"),
    conclude=_(
        "demnach | also | daher | somit | deshalb | folglich | fazit | schlussfolgerung | letztlich | schließlich | insgesamt | demnach | deswegen | endgültig | zusammenfassend | mithin | am ende | final | finale | damit"
    ),
    reason=_("weil | da | denn | aufgrund | begründung | wegen | mit | wobei | erklärung | als"),
    wrong=_(
        "falsch | inkorrekt | ausgeschlossen | unmöglich | unwahrscheinlich | scheidet aus | scheiden aus | fällt weg | fallen weg | entfällt | entfallen | fehlt | abwesend | ungültig | unpassend | unzutreffend | fehlerhaft | irrelevant | falsche | zu wenig | zu viele | zu viel | zu groß | zu klein | raus | auszuschließen | ausschließen"
    ),
    deny=_(
        "nicht | kein | keine | keinen | keiner | keinem | keines | weder | noch | nie | niemals | ohne | schließe | ausschließen | nein | keinesfalls | keineswegs | sehe kein | kaum | niemand"
    ),
    deny_next=_(
        "statt | anstatt | anstelle von | außer | im gegensatz zu | und nicht | alles außer | anders als | abgesehen von | sondern nicht | aber nicht | verglichen mit"
    ),
    doubt=_(
        "bezweifle | ich bezweifle | zweifle | zweifelhaft | fraglich | nicht sicher ob | unsicher ob | ob | glaube nicht | denke nicht | glaube ich nicht"
    ),
    possible=_(
        "vielleicht | könnte | könnten | möglicherweise | eventuell | kann sein | womöglich | eine möglichkeit | denkbar"
    ),
    condition=_(
        "wenn | falls | sofern | angenommen | sollte es | vorausgesetzt | es sei denn | hängt davon ab | kommt darauf an | gesetzt den fall | hätte es | hätte das | wäre es | wäre das"
    ),
    report=_(
        "man könnte meinen | man könnte denken | man sagt | laut ihm | er sagt | sie sagt | er meint | angeblich | jemand sagte | man könnte | mir wurde gesagt | es heißt | man hat mir gesagt"
    ),
    given_up=_(
        "zuerst | zunächst | anfangs | ursprünglich | auf den ersten blick | dachte | ich dachte | erst dachte | glaubte | schien | fast hätte | auf den ersten"
    ),
    consider=_(
        "betrachten | betrachte | prüfen | prüfe | untersuchen | vergleichen | verglichen | im vergleich zu | schauen | überprüfen | schauen wir | sehen wir | was ist mit | bezüglich | analysieren | gegenüber | zwischen"
    ),
    correction=_(
        "nein | doch | korrektur | eigentlich | entschuldigung | sorry | besser gesagt | ich korrigiere | tatsächlich | ich meine | vielmehr | halt | ups | bei näherer betrachtung | bei genauerem hinsehen | verzeihung"
    ),
    contrast=_(
        "aber | jedoch | doch | allerdings | sondern | dennoch | trotzdem | tatsächlich | vielmehr | hingegen | dagegen | in wirklichkeit"
    ),
    otherwise=_("sonst | ansonsten | andernfalls"),
    neutral=_(
        "ohne zweifel | kein zweifel | zweifellos | zweifelsohne | nicht nur | keine frage | die anderen | die anderen optionen | die übrigen | alle anderen | wenn ich raten müsste | wenn man genau | wenn man | wenn ich | wenn ich wählen müsste | kann nur | nichts anderes | keine andere | es gibt keinen zweifel | wie man sieht"
    ),
    either=_("oder | entweder | beziehungsweise | bzw"),
    both=_("und | sowie | beide | sowohl"),
    article=_(
        "ein | eine | einen | einem | einer | eines | der | die | das | den | dem | des | meine | mein | unsere"
    ),
    filler=_(
        "eindeutig | klar | sicher | sicherlich | wahrscheinlich | offensichtlich | definitiv | wohl | hier | ich | wir | die | der | das | dann | zweifellos | am ehesten | ganz | sehr | mich | für | auf | auf die | die frage | auf diese frage | somit | demzufolge | bestimmt | natürlich | vermutlich | nun | eben | auch | sein | mich für | würde | würde ich"
    ),
    function=_(
        "der | die | das | ein | eine | und | ist | im | in | auf | bild | foto | zu | sehen | sehe | ich | man | es | sich | mit | von | dem | den | dieses | diese | tier | zeigt | steht | sitzt | liegt | befindet | gibt | hat | sind | wird | an | am | aus | bei | nach | für | dass | hier | wir | auf dem | auf der | ja | nicht | kein | keine | abgebildet | um | handelt | vor | hinter | neben | unter | über | zwischen | zum | zur | vom | beim | ins | so | wie | nur | noch | schon | auch | sein | einen | einem | einer | eines"
    ),
    yes=_("ja | jawohl | doch | genau"),
    no=_("nein | nee | nö"),
    true=_("wahr | richtig | stimmt | korrekt"),
    false=_("falsch | unwahr | stimmt nicht"),
    bound=_(
        "mindestens | höchstens | mehr als | weniger als | über | unter | größer als | kleiner als | zwischen | bis zu | wenigstens | maximal | minimal | fast | nicht mehr als | nicht weniger als | knapp | vor | nach | seit"
    ),
    label=_(
        "abbildung | abb | tabelle | seite | schritt | frage | bild | nummer | nr | aufgabe | teil | zeile"
    ),
    modifier=_(
        "kleiner | kleine | kleines | großer | große | großes | brauner | braune | braunes | weißer | weiße | weißes | schwarzer | schwarze | schwarzes | roter | rote | rotes | junger | junge | junges | alter | alte | schöner | schöne | einzelner | einzelne | grauer | graue | rot | grün | blau | gelb | schwarz | weiß | links | rechts"
    ),
    abstain=_(
        "weiß nicht | keine ahnung | kann nicht | tut mir leid | nicht bestimmen | unmöglich zu | nicht erkennbar | nicht möglich"
    ),
    person=_(
        "jemand | manche | viele | andere | einige | leute | schüler | student | studentin | freund | freundin | lehrer | nutzer | modell | kollege | kollegin | experten | meisten"
    ),
    opinion=_(
        "sagt | sagte | sagen | meint | meinte | meinen | denkt | denken | glaubt | glauben | wählt | wählte | wählen | gewählt | antwortet | antworten | behauptet | behaupten | tippt | würden | würde | hat"
    ),
    withdraw=_(
        "moment | warte | ich habe mich geirrt | vergiss | nur ein scherz | war nur spaß | ich nehme das zurück"
    ),
    match=_("passt | entspricht | beschreibt | stimmt | trifft zu | bleibt übrig | passt am besten"),
    that=_("dass | daß | ob"),
    also=_("ebenso möglich | auch möglich | genauso möglich"),
    self=_("ich | mein | meine | wir | mich | mir"),
    concede=_("obwohl | obgleich | auch wenn | während | wenngleich | zwar"),
    according=_("laut | nach ansicht | nach meinung | zufolge | gemäß"),
    source=_(
        "bild | foto | diagramm | karte | abbildung | legende | tabelle | frage | text | grafik | daten | zeichnung | dokument | regel | definition | angaben | schild | das bild | zeigt | zeigen | bedeutet | folgt | klar | deutlich | beweist | beweisen | erkennt man | sieht man | ersichtlich | sehe"
    ),
    would=_("wäre | würde | hätte"),
    says=_("sagt | meint | glaubt | denkt | behauptet | sagte | sagen"),
    verb_endings=_("t | en"),
    about=_("etwa | ungefähr | circa | ca | rund | zirka"),
    none=_("keine der | keines der | keiner der | keine davon | keines davon | keine antwort | keine option"),
)

SPANISH = Language(
    name="Spanish",
    ordinals=_("primera | segunda | tercera | cuarta | última"),
    listing=_("opciones | alternativas | cada opción | posibilidades"),
    total=_("en total | total | suma | en conjunto"),
    present=_("hay | veo"),
    months=_(
        "enero | febrero | marzo | abril | mayo | junio | julio | agosto | septiembre | octubre | noviembre | diciembre"
    ),
    at_least=_("al menos | por lo menos | como mínimo"),
    at_most=_("como máximo | a lo sumo | hasta"),
    more_than=_("más de"),
    less_than=_("menos de | casi"),
    or_more=_("o más"),
    or_less=_("o menos"),
    reference=_("figura | tabla | página | paso | pregunta | imagen | opción"),
    numbers=_(
        "cero | uno/un/una | dos | tres | cuatro | cinco | seis | siete | ocho | nueve | diez | once | doce | trece | catorce | quince | dieciséis | diecisiete | dieciocho | diecinueve | veinte"
    ),
    tens=_("veinte | treinta | cuarenta | cincuenta | sesenta | setenta | ochenta | noventa"),
    tens_and=_("{ten} y {unit}"),
    last_units=_(
        "veintiuno=21 | veintiún=21 | veintiuna=21 | veintidós=22 | veintidos=22 | veintitrés=23 | veintitres=23 | veinticuatro=24 | veinticinco=25 | veintiséis=26 | veintiseis=26 | veintisiete=27 | veintiocho=28 | veintinueve=29"
    ),
    scales=_(
        "cien | ciento | doscientos | trescientos | cuatrocientos | quinientos | mil | millón | millones"
    ),
    answer=_(
        "respuesta | solución | solucion | respuesta correcta | respuesta final | resultado | contestación"
    ),
    option=_("opción | opcion | letra | alternativa | elección | inciso | literal | opciones | posibilidad"),
    copula=_(
        "es | sería | seria | debe ser | será | era | parece ser | parece | tiene que ser | son | debería ser | solo puede ser | está | se trata de | ha de ser | corresponde a"
    ),
    pronoun=_("es | esto | eso | este | esta | ello | se | aquí | el animal | la imagen | se trata de | ese"),
    choose=_(
        "elijo | elegiría | elegir | escojo | selecciono | seleccionar | opto por | me quedo con | me inclino por | diría | yo diría | respondo | marco | voy con | queda | queda la | solo queda | elegimos | marcaría | contesto | voto por | apunta a | diría que es"
    ),
    believe=_(
        "creo | creo que | pienso | pienso que | en mi opinión | supongo | supongo que | considero que | me parece | a mi juicio | creo que es | estimo | yo creo"
    ),
    right=_(
        "correcta | correcto | verdadera | verdadero | acertada | mejor | adecuada | adecuado | exacta | coincide | corresponde | encaja | describe | cierta | cierto | válida | apropiada | indicada | plausible | acertado"
    ),
    only=_("solo | sólo | solamente | única | únicamente | único"),
    conclude=_(
        "así que | por lo tanto | por tanto | entonces | en conclusión | conclusión | finalmente | por ende | en consecuencia | por consiguiente | luego | en resumen | en definitiva | final | de ahí que | por eso | al final | con lo cual"
    ),
    reason=_(
        "porque | ya que | pues | debido a | dado que | puesto que | como | explicación | por | con | justificación"
    ),
    wrong=_(
        "incorrecta | incorrecto | falsa | falso | errónea | erróneo | equivocada | equivocado | imposible | improbable | descartada | descartado | descartadas | eliminada | eliminadas | eliminado | ausente | inválida | mal | excluida | incorrectas | falsas | demasiado | muy pocos | muy pequeño | descartan | descarta | sobra | no corresponde"
    ),
    deny=_(
        "no | ni | ningún | ninguna | ninguno | nunca | jamás | tampoco | descarto | descartar | descartamos | elimino | eliminar | eliminamos | excluyo | excluir | sin | rechazo | apenas | nada de | nadie"
    ),
    deny_next=_(
        "en lugar de | en vez de | y no | excepto | salvo | a diferencia de | cualquier cosa menos | todo menos | menos | pero no | más que | aparte de | antes que | comparado con | frente a"
    ),
    doubt=_(
        "dudo | dudo que | dudoso | no estoy seguro | no estoy segura | no creo | no pienso | no sé si | no creo que"
    ),
    possible=_(
        "quizás | quizá | tal vez | podría | podrían | puede que | posiblemente | posible | a lo mejor | puede ser | pudiera | una posibilidad"
    ),
    condition=_(
        "si | a menos que | suponiendo | siempre que | en caso de | depende | supongamos | en el caso de | de haber"
    ),
    report=_(
        "se dice | según él | según ella | él dice | ella dice | uno podría | podría pensarse | hay quien | dicen que | me dijeron | me han dicho | me dijo"
    ),
    given_up=_(
        "al principio | inicialmente | a primera vista | pensé | pensaba | creía | creí | había pensado | en un principio | primero pensé | iba a | originalmente | de entrada | estuve a punto | hubiera sido | habría sido | casi elijo | parecía al principio | había elegido"
    ),
    consider=_(
        "consideremos | considerar | veamos | verifiquemos | verificar | revisemos | examinemos | analicemos | comparado | comparando | comparemos | en cuanto a | respecto a | miremos | qué tal | evaluemos | entre"
    ),
    correction=_(
        "no | en realidad | corrección | perdón | lo siento | mejor dicho | de hecho | rectifico | más bien | corrijo | error | ups | pensándolo bien | un momento | disculpa"
    ),
    contrast=_("pero | sin embargo | no obstante | sino | en realidad | en cambio | de hecho | más bien"),
    otherwise=_("de lo contrario | si no | en caso contrario | de otro modo"),
    neutral=_(
        "sin duda | sin dudas | sin lugar a dudas | no hay duda | no cabe duda | sin ninguna duda | no solo | no sólo | ninguna otra | las demás | las demás opciones | las otras | las otras opciones | si tuviera que | si tengo que | si nos fijamos | si observamos | si miramos | no puede ser otra | solo puede ser | no es otra que | así como | como se ve | no queda duda | por supuesto | si no me equivoco"
    ),
    either=_("o | u | ya sea | o bien"),
    both=_("y | e | ambas | ambos | tanto | así como"),
    article=_(
        "un | una | el | la | los | las | unos | unas | mi | nuestra | esta | este | del | al | lo | a"
    ),
    filler=_(
        "claramente | definitivamente | probablemente | seguramente | obviamente | sin duda | la | el | lo | de | que | más | yo | muy | evidentemente | ciertamente | aquí | a | esta pregunta | la pregunta | a la pregunta | sería | más probable | por la | por | entonces | con | bien | también | efectivamente"
    ),
    function=_(
        "el | la | los | las | un | una | de | del | en | y | es | que | se | ve | veo | hay | imagen | foto | fotografía | animal | muestra | con | por | para | su | al | está | este | esta | lo | son | no | a | aparece | puede | observa | aquí | ser | muy | más | sobre | bajo | junto | tiene | parece | la imagen | una imagen | me | te | nos | como | qué | cuál"
    ),
    yes=_("sí | si | claro | por supuesto | afirmativo | así es"),
    no=_("no | para nada | negativo"),
    true=_("verdadero | cierto | verdad | correcto | verdadera"),
    false=_("falso | falsa | incorrecto"),
    bound=_(
        "al menos | como máximo | como mínimo | más de | menos de | mayor que | menor que | entre | hasta | por lo menos | casi | superior a | inferior a | a lo sumo | no más de | no menos de | antes de | después de | desde"
    ),
    label=_(
        "figura | fig | tabla | página | paso | pregunta | imagen | número | parte | foto | ejercicio | línea"
    ),
    modifier=_(
        "pequeño | pequeña | gran | grande | bonito | hermoso | joven | viejo | solo | mismo | otro | rojo | verde | azul | amarillo | negro | blanco | izquierda | derecha | primer | último | buen"
    ),
    abstain=_(
        "no sé | no puedo | lo siento | imposible | no es posible | no se puede determinar | no lo sé | incapaz de"
    ),
    person=_(
        "alguien | algunos | muchos | otros | gente | estudiante | alumno | alumna | amigo | amiga | profesor | profesora | compañero | usuario | modelo | expertos | personas"
    ),
    opinion=_(
        "dice | dicen | dijo | piensa | piensan | cree | creen | eligió | eligieron | elige | elegiría | elegirían | respondió | afirma | sugiere | escogió | marcó | diría | dirían | pensaría"
    ),
    withdraw=_("espera | espere | me equivoqué | es broma | olvídalo | me retracto"),
    match=_("coincide | corresponde | encaja | describe | cuadra"),
    that=_("que"),
    also=_("también es posible | también podría | igualmente posible"),
    self=_("yo | mi | nosotros | creo | elijo | pienso | diría | me"),
    concede=_("aunque | a pesar de | mientras que | si bien"),
    according=_("según | de acuerdo con | en opinión de | al decir de"),
    source=_(
        "imagen | foto | gráfico | gráfica | mapa | figura | leyenda | tabla | pregunta | texto | diagrama | datos | dibujo | documento | regla | definición | información | la imagen | la foto | el gráfico | claro que | evidente que | muestra que | muestran que | significa que | indica que | indican que | ve que | demuestra que"
    ),
    would=_("sería | habría | tendría"),
    says=_("dice | cree | piensa | dijo | afirma | opina | dicen"),
    verb_endings=_("a | e | an | en | ando | endo"),
    about=_("aproximadamente | alrededor de | unos | unas | cerca de | más o menos"),
    none=_("ninguna de las | ninguno de los | ninguna de ellas | ninguna opción | ninguna respuesta"),
    too=_("demasiado"),
)

PORTUGUESE = Language(
    name="Portuguese",
    ordinals=_("primeira | segunda | terceira | quarta | última"),
    listing=_("opções | alternativas | cada opção | cada alternativa"),
    total=_("no total | ao todo | total | soma"),
    present=_("há | tem | vejo"),
    months=_(
        "janeiro | fevereiro | março | abril | maio | junho | julho | agosto | setembro | outubro | novembro | dezembro"
    ),
    at_least=_("pelo menos | no mínimo | ao menos"),
    at_most=_("no máximo | até"),
    more_than=_("mais de | mais que"),
    less_than=_("menos de | menos que | quase"),
    or_more=_("ou mais"),
    or_less=_("ou menos"),
    reference=_("figura | tabela | página | passo | pergunta | questão | opção"),
    numbers=_(
        "zero | um/uma | dois/duas | três | quatro | cinco | seis | sete | oito | nove | dez | onze | doze | treze | catorze/quatorze | quinze | dezesseis/dezasseis | dezessete/dezassete | dezoito | dezenove/dezanove | vinte"
    ),
    tens=_("vinte | trinta | quarenta | cinquenta/cinqüenta | sessenta | setenta | oitenta | noventa"),
    tens_and=_("{ten} e {unit}"),
    scales=_("cem | cento | duzentos | trezentos | quatrocentos | quinhentos | mil | milhão | milhões"),
    answer=_(
        "resposta | solução | gabarito | resposta correta | resposta certa | resposta final | resultado"
    ),
    option=_("opção | opcao | letra | alternativa | escolha | item | possibilidade | opções"),
    copula=_(
        "é | seria | deve ser | será | era | parece ser | parece | tem que ser | tem de ser | são | só pode ser | está | trata-se de | corresponde a | deveria ser"
    ),
    pronoun=_(
        "é | isto | isso | este | esta | ele | ela | aqui | o animal | a imagem | trata-se de | se | esse | essa"
    ),
    choose=_(
        "escolho | eu escolho | escolheria | escolher | seleciono | opto por | opto pela | fico com | diria | eu diria | respondo | marco | marcaria | vou de | vou com | resta | sobra | só resta | resta a | escolhemos | assinalo | voto em | aposto em | corresponde à | aponta para"
    ),
    believe=_(
        "acho | acho que | acredito | acredito que | penso | penso que | na minha opinião | creio | creio que | suponho | suponho que | me parece | eu acho | considero que"
    ),
    right=_(
        "correta | correto | certa | certo | verdadeira | verdadeiro | melhor | adequada | adequado | exata | corresponde | coincide | descreve | encaixa | válida | apropriada | acertada | combina"
    ),
    only=_("só | somente | apenas | única | único | unicamente"),
    conclude=_(
        "portanto | logo | assim | então | por isso | em conclusão | conclusão | finalmente | por fim | concluindo | dessa forma | desse modo | em resumo | final | consequentemente | por conseguinte | ou seja | no fim | enfim"
    ),
    reason=_(
        "porque | pois | já que | visto que | devido a | uma vez que | dado que | como | explicação | com | por causa | justificativa"
    ),
    wrong=_(
        "incorreta | incorreto | errada | errado | falsa | falso | equivocada | impossível | improvável | descartada | descartadas | descartado | eliminada | eliminadas | eliminado | ausente | inválida | excluída | incorretas | erradas | falsas | pequeno demais | grande demais | demais | poucos"
    ),
    deny=_(
        "não | nao | nem | nenhum | nenhuma | nunca | jamais | tampouco | descarto | descartar | descartamos | elimino | eliminar | eliminamos | excluo | excluir | sem | rejeito | nada de | ninguém"
    ),
    deny_next=_(
        "em vez de | ao invés de | em lugar de | e não | exceto | salvo | ao contrário de | diferente de | tudo menos | qualquer coisa menos | mas não | menos | a não ser | em comparação com"
    ),
    doubt=_(
        "duvido | duvido que | duvidoso | não tenho certeza | não acho | não acredito | não creio | não sei se"
    ),
    possible=_(
        "talvez | poderia | poderiam | pode ser | possivelmente | possível | quem sabe | porventura | pode ser que | pode até | uma possibilidade"
    ),
    condition=_(
        "se | a menos que | caso | supondo | desde que | depende | suponhamos | na hipótese | se fosse"
    ),
    report=_(
        "segundo ele | segundo ela | ele diz | ela diz | diz-se | poderia pensar | dizem que | me disseram | disseram-me | me disse | poderia-se pensar | poder-se-ia pensar | pode-se pensar"
    ),
    given_up=_(
        "a princípio | inicialmente | à primeira vista | pensei | pensava | achei | achava | no início | no começo | primeiro pensei | ia ser | originalmente | de início | teria sido | quase escolhi | cheguei a pensar"
    ),
    consider=_(
        "consideremos | considerar | vejamos | verifiquemos | verificar | examinemos | analisemos | comparado | comparando | comparemos | quanto à | quanto ao | em relação a | vamos verificar | vamos ver | vamos analisar | avaliemos | que tal | entre"
    ),
    correction=_(
        "não | na verdade | correção | perdão | desculpe | desculpa | melhor dizendo | de fato | aliás | corrigindo | quer dizer | ops | pensando bem | ou melhor | um momento"
    ),
    contrast=_(
        "mas | porém | contudo | no entanto | entretanto | todavia | mas sim | na verdade | e sim | na realidade"
    ),
    otherwise=_("senão | caso contrário | do contrário"),
    neutral=_(
        "sem dúvida | sem dúvidas | sem sombra de dúvida | não há dúvida | não há dúvidas | com certeza | não só | não apenas | nenhuma outra | as demais | as outras | as outras opções | as demais opções | se eu tivesse que | se tivesse que | se tiver que | se observarmos | se olharmos | se não me engano | só pode ser | assim como | como se vê | se trata | se vê | se encontra | se encaixa | refere-se"
    ),
    either=_("ou | ou então | ou seja"),
    both=_("e | ambas | ambos | tanto | bem como | assim como"),
    article=_("um | uma | o | a | os | as | uns | umas | minha | nossa | esta | este | do | da | ao"),
    filler=_(
        "claramente | definitivamente | provavelmente | certamente | obviamente | sem dúvida | a | o | de | da | do | que | mais | eu | muito | evidentemente | com certeza | aqui | para | esta pergunta | pela | pela letra | a questão | para a questão | à pergunta | mais provável | bem | também | então"
    ),
    function=_(
        "o | a | os | as | um | uma | de | do | da | em | no | na | e | é | que | se | vejo | vê | há | imagem | foto | animal | mostra | com | por | para | seu | sua | ao | está | este | esta | isso | isto | não | aparece | pode | aqui | são | nos | pelo | pela | ser | mais | muito | à | têm | tem | num | numa | eu | você | qual"
    ),
    yes=_("sim | claro | com certeza | é sim"),
    no=_("não | nao | de jeito nenhum"),
    true=_("verdadeiro | verdade | certo | verdadeira | correto"),
    false=_("falso | falsa | errado"),
    bound=_(
        "pelo menos | no mínimo | no máximo | ao menos | mais de | menos de | maior que | menor que | mais que | menos que | entre | até | quase | superior a | inferior a | acima de | abaixo de | não mais de | antes de | depois de | desde"
    ),
    label=_(
        "figura | fig | tabela | página | passo | pergunta | questão | imagem | número | parte | foto | exercício | linha"
    ),
    modifier=_(
        "pequeno | pequena | grande | bonito | bonita | lindo | jovem | velho | mesmo | outro | vermelho | verde | azul | amarelo | preto | branco | esquerda | direita | primeiro | último | bom"
    ),
    abstain=_(
        "não sei | não posso | não consigo | desculpe | impossível | não é possível | lamento | sinto muito"
    ),
    person=_(
        "alguém | alguns | muitos | outros | pessoas | aluno | aluna | estudante | amigo | amiga | professor | professora | colega | usuário | modelo | especialistas | gente"
    ),
    opinion=_(
        "diz | dizem | disse | pensa | pensam | acha | acham | acredita | escolheu | escolheram | escolhe | escolheria | escolheriam | respondeu | afirma | sugere | marcou | diria | diriam | pensaria"
    ),
    withdraw=_("espera | espere | me enganei | errei | brincadeira | esqueça | retiro"),
    match=_("corresponde | coincide | descreve | encaixa | combina"),
    that=_("que"),
    self=_("eu | minha | meu | nós | acho | escolho | penso | diria"),
    concede=_("embora | apesar de | ainda que | enquanto | se bem que"),
    according=_("segundo | de acordo com | conforme | na opinião de"),
    source=_(
        "imagem | foto | gráfico | mapa | figura | legenda | tabela | pergunta | questão | texto | diagrama | dados | desenho | documento | regra | definição | informações | a imagem | a foto | o gráfico | claro que | evidente que | mostra que | mostram que | significa que | indica que | indicam que | vê que | vemos que | demonstra que"
    ),
    would=_("seria | teria"),
    says=_("diz | acha | acredita | disse | pensa | afirma | dizem"),
    verb_endings=_("a | e | am | em | ando | endo"),
    about=_("aproximadamente | cerca de | por volta de | mais ou menos | uns | umas"),
    none=_("nenhuma das | nenhum dos | nenhuma delas | nenhuma opção | nenhuma alternativa"),
    too=_("demasiado"),
)

ITALIAN = Language(
    name="Italian",
    ordinals=_("prima | seconda | terza | quarta | ultima"),
    listing=_("opzioni | alternative | ogni opzione | ciascuna opzione"),
    total=_("in totale | totale | somma | in tutto"),
    present=_("c'è | ci sono | vedo"),
    months=_(
        "gennaio | febbraio | marzo | aprile | maggio | giugno | luglio | agosto | settembre | ottobre | novembre | dicembre"
    ),
    at_least=_("almeno | al minimo"),
    at_most=_("al massimo | fino a"),
    more_than=_("più di | oltre"),
    less_than=_("meno di | quasi"),
    or_more=_("o più"),
    or_less=_("o meno"),
    reference=_("figura | tabella | pagina | passo | domanda | opzione"),
    numbers=_(
        "zero | uno/un/una | due | tre | quattro | cinque | sei | sette | otto | nove | dieci | undici | dodici | tredici | quattordici | quindici | sedici | diciassette | diciotto | diciannove | venti"
    ),
    tens=_(
        "venti/vent | trenta/trent | quaranta/quarant | cinquanta/cinquant | sessanta/sessant | settanta/settant | ottanta/ottant | novanta/novant"
    ),
    tens_and=_("{ten}{unit}"),
    last_units=_("tré=3 | un=1"),
    scales=_("cento | duecento | trecento | mille | mila | milione | milioni | miliardo | miliardi"),
    answer=_("risposta | soluzione | risposta corretta | risposta giusta | risposta finale | risultato"),
    option=_(
        "opzione | l'opzione | lettera | la lettera | alternativa | scelta | possibilità | opzioni | l'alternativa | dell'opzione"
    ),
    copula=_(
        "è | sarebbe | dev'essere | deve essere | sarà | era | sembra essere | sembra | sono | dovrebbe essere | può essere solo | si tratta di | corrisponde a | pare"
    ),
    pronoun=_(
        "è | questo | questa | ciò | esso | si | qui | l'animale | l'immagine | si tratta di | quello | quella"
    ),
    choose=_(
        "scelgo | sceglierei | scegliere | seleziono | opto per | direi | io direi | rispondo | segno | resta | rimane | resta solo | rimane solo | scegliamo | prendo | voto per | punto su | vado con | propendo per | indica | scelta"
    ),
    believe=_(
        "credo | penso | ritengo | secondo me | a mio parere | suppongo | credo che | penso che | mi sembra | a mio avviso | credo che sia | penso che sia | ritengo che sia | immagino"
    ),
    right=_(
        "corretta | corretto | giusta | giusto | esatta | esatto | vera | vero | migliore | adatta | appropriata | corrisponde | descrive | coincide | valida | plausibile | adeguata | azzeccata"
    ),
    only=_("solo | soltanto | solamente | unica | unico | unicamente"),
    conclude=_(
        "quindi | dunque | perciò | pertanto | allora | in conclusione | conclusione | infine | così | di conseguenza | in sintesi | finale | in definitiva | per cui | alla fine | ne consegue"
    ),
    reason=_(
        "perché | poiché | dato che | siccome | visto che | a causa di | in quanto | spiegazione | con | come | per via"
    ),
    wrong=_(
        "sbagliata | sbagliato | errata | errato | falsa | falso | scorretta | impossibile | improbabile | esclusa | escluse | escluso | eliminata | eliminate | scartata | scartate | assente | non valida | inesatta | sbagliate | errate | false | troppo | pochi | da escludere | da scartare"
    ),
    deny=_(
        "non | né | nessun | nessuno | nessuna | mai | neanche | nemmeno | escludo | escludere | escludiamo | elimino | eliminare | eliminiamo | scarto | scartare | scartiamo | senza | non è | n'è"
    ),
    deny_next=_(
        "invece di | anziché | piuttosto che | e non | tranne | eccetto | a differenza di | tutto tranne | ma non | al posto di | rispetto a"
    ),
    doubt=_(
        "dubito | dubito che | dubbio | non sono sicuro | non sono sicura | non credo | non penso | non so se"
    ),
    possible=_(
        "forse | potrebbe | potrebbero | può darsi | possibile | possibilmente | magari | può essere | eventualmente | una possibilità"
    ),
    condition=_(
        "se | a meno che | supponendo | purché | nel caso | dipende | supponiamo | qualora | ammesso che"
    ),
    report=_(
        "si dice | secondo lui | secondo lei | lui dice | lei dice | ha detto | si potrebbe pensare | dicono che | mi hanno detto | mi ha detto"
    ),
    given_up=_(
        "inizialmente | all'inizio | a prima vista | pensavo | ho pensato | credevo | avevo pensato | in un primo momento | prima pensavo | stavo per | originariamente | dapprima | in principio | sarebbe stata | sarebbe stato | di primo acchito | ero tentato"
    ),
    consider=_(
        "consideriamo | considerare | verifichiamo | verificare | esaminiamo | vediamo | analizziamo | confrontiamo | rispetto | confronto | quanto a | riguardo a | controlliamo | valutiamo | guardiamo | paragonato | tra | fra"
    ),
    correction=_(
        "no | anzi | in realtà | correzione | scusa | scusate | scusi | mi correggo | errore | piuttosto | o meglio | ops | ripensandoci | un momento"
    ),
    contrast=_("ma | però | tuttavia | eppure | bensì | invece | in realtà | anzi | al contrario"),
    otherwise=_("altrimenti | in caso contrario | sennò"),
    neutral=_(
        "senza dubbio | senza alcun dubbio | senza ombra di dubbio | nessun dubbio | non c'è dubbio | non ci sono dubbi | non solo | nessun'altra | le altre | le altre opzioni | le altre risposte | se dovessi | se si guarda | se guardiamo | se non erro | può essere solo | non può essere altro | non può che essere | se devo | come si vede | così come"
    ),
    either=_("o | oppure | ovvero"),
    both=_("e | ed | entrambe | entrambi | sia"),
    article=_(
        "un | uno | una | un' | il | lo | la | i | gli | le | l' | la mia | mia | del | della | dell' | dei | delle | a"
    ),
    filler=_(
        "chiaramente | sicuramente | probabilmente | certamente | ovviamente | senza dubbio | la | il | l' | di | che | più | io | molto | evidentemente | decisamente | qui | per | alla domanda | a questa domanda | della | sia | più probabile | per la | anche | proprio | dunque"
    ),
    function=_(
        "il | lo | la | i | gli | le | un | una | di | del | della | in | nel | nella | e | è | che | si | vedo | vede | c'è | ci | sono | immagine | foto | animale | mostra | con | per | su | sul | sulla | questo | questa | non | al | alla | da | più | molto | qui | ha | appare | essere | nell'immagine | dell'immagine | l'immagine | mi | ti | quale | raffigura | sta"
    ),
    yes=_("sì | si | certo | certamente | esatto"),
    no=_("no | per niente | assolutamente no"),
    true=_("vero | vera | corretto | esatto | giusto"),
    false=_("falso | falsa | sbagliato | errato"),
    bound=_(
        "almeno | al massimo | al minimo | più di | meno di | maggiore di | minore di | tra | fra | fino a | quasi | superiore a | inferiore a | oltre | sotto | non più di | prima del | dopo il | dal"
    ),
    label=_(
        "figura | fig | tabella | pagina | passo | domanda | immagine | numero | parte | foto | esercizio | riga"
    ),
    modifier=_(
        "piccolo | piccola | grande | bel | bello | bella | giovane | vecchio | stesso | altro | rosso | verde | blu | giallo | nero | bianco | sinistra | destra | primo | ultimo | buon"
    ),
    abstain=_("non so | non posso | non è possibile | mi dispiace | impossibile | non riesco | non lo so"),
    person=_(
        "qualcuno | alcuni | molti | altri | gente | studente | studentessa | alunno | l'alunno | amico | amica | professore | collega | utente | l'utente | modello | esperti | persone"
    ),
    opinion=_(
        "dice | dicono | detto | pensa | pensano | crede | credono | scelto | scelgono | sceglie | sceglierebbe | sceglierebbero | risposto | risponde | afferma | sostiene | suggerisce | direbbero"
    ),
    withdraw=_("aspetta | aspetti | mi sono sbagliato | mi sbaglio | scherzo | ritiro"),
    match=_("corrisponde | descrive | coincide"),
    that=_("che"),
    self=_("io | mia | mio | noi | credo | scelgo | penso | direi"),
    concede=_("sebbene | anche se | benché | nonostante | mentre"),
    according=_("secondo | a detta di | stando a | in base a"),
    source=_(
        "immagine | l'immagine | foto | grafico | mappa | figura | legenda | tabella | domanda | testo | diagramma | dati | disegno | documento | regola | definizione | me | informazioni | la foto | chiaro che | evidente che | mostra che | mostrano che | significa che | indica che | indicano che | vede che | vediamo che | dimostra che"
    ),
    would=_("sarebbe | avrebbe"),
    says=_("dice | crede | pensa | afferma | sostiene | dicono"),
    verb_endings=_("a | e | ano | ono | ando | endo"),
    about=_("circa | approssimativamente | intorno a | più o meno"),
    none=_("nessuna delle | nessuno dei | nessuna di queste | nessuna opzione | nessuna risposta"),
    too=_("troppo"),
)

RUSSIAN = Language(
    name="Russian",
    ordinals=_("первый | второй | третий | четвёртый/четвертый | последний"),
    listing=_("варианты | вариантов | каждый вариант"),
    total=_("всего | итого | в сумме | сумма | вместе"),
    present=_("есть | вижу"),
    absent=_("нет | не"),
    months=_(
        "января/январь | февраля/февраль | марта/март | апреля/апрель | мая/май | июня/июнь | июля/июль | августа/август | сентября/сентябрь | октября/октябрь | ноября/ноябрь | декабря/декабрь"
    ),
    at_least=_("не менее | как минимум | по крайней мере"),
    at_most=_("не более | максимум"),
    more_than=_("больше | более | свыше"),
    less_than=_("меньше | менее | почти"),
    or_more=_("или более | или больше"),
    or_less=_("или менее | или меньше"),
    reference=_("рисунок | рис | таблица | страница | шаг | вопрос | вариант"),
    numbers=_(
        "ноль/нуль | один/одна/одно | два/две/двое | три/трое | четыре/четверо | пять/пятеро | шесть | семь | восемь | девять | десять | одиннадцать | двенадцать | тринадцать | четырнадцать | пятнадцать | шестнадцать | семнадцать | восемнадцать | девятнадцать | двадцать"
    ),
    tens=_("двадцать | тридцать | сорок | пятьдесят | шестьдесят | семьдесят | восемьдесят | девяносто"),
    tens_and=_("{ten} {unit}"),
    scales=_(
        "сто | двести | триста | четыреста | пятьсот | тысяча | тысячи | тысяч | миллион | миллиона | миллионов"
    ),
    answer=_(
        "ответ | ответом | решение | правильный ответ | верный ответ | окончательный ответ | результат | итог | ответы | отв"
    ),
    option=_(
        "вариант | варианта | вариантом | буква | букву | опция | пункт | выбор | варианты | вариант ответа | буквой | утверждение"
    ),
    copula=_(
        "это | есть | является | будет | должен быть | должно быть | будет вариант | скорее всего | кажется | называется | похоже"
    ),
    pronoun=_("это | он | она | оно | здесь | изображение | на изображении | на картинке | на фото | этот"),
    choose=_(
        "выбираю | я выбираю | выберу | выбрал | выбираем | выбрать | останавливаюсь на | остановлюсь на | отвечаю | отмечаю | остаётся | остается | остаётся только | остается только | выбрала | голосую за | за вариант | скажу | сказал бы | я бы сказал | я бы выбрал | я бы выбрала | склоняюсь к | соответствует | подтверждает | указывает на"
    ),
    believe=_(
        "я думаю | думаю | я считаю | считаю | полагаю | по-моему | на мой взгляд | по моему мнению | мне кажется | предполагаю | я полагаю | думаю что | я уверен | уверен"
    ),
    right=_(
        "правильный | правильно | правильная | верно | верный | верен | верна | прав | правилен | подходит | соответствует | лучший | точный | истинно | наиболее подходящий | корректный | правильным | верным | описывает | совпадает | корректно | подходящий | правильной"
    ),
    only=_("только | лишь | единственный | единственно"),
    conclude=_(
        "значит | поэтому | следовательно | таким образом | итак | итого | в итоге | вывод | в заключение | тогда | отсюда | стало быть | окончательно | наконец | так что | следует | окончательный | заключение"
    ),
    reason=_(
        "потому что | так как | поскольку | ведь | из-за | благодаря | объяснение | пояснение | ибо | с | обоснование | который | которая"
    ),
    wrong=_(
        "неправильный | неправильно | неверно | неверный | неверен | неверна | ошибочный | ошибочно | ложно | исключён | исключен | исключены | исключается | исключаются | исключаем | отпадает | отпадают | невозможно | маловероятно | отсутствует | не подходит | не подходят | не соответствует | неправильные | неверные | неправильная"
    ),
    deny=_(
        "не | нет | ни | никогда | исключаю | исключаем | исключить | отбрасываю | отбрасываем | отвергаю | без | нельзя | вряд ли | отнюдь | не является | не может быть | никто"
    ),
    deny_next=_(
        "вместо | а не | кроме | в отличие от | что угодно только не | помимо | но не | нежели | чем | по сравнению с"
    ),
    doubt=_(
        "сомневаюсь | сомнительно | не уверен | не уверена | не думаю | не считаю | вряд ли | едва ли | не знаю"
    ),
    possible=_(
        "может быть | возможно | мог бы | могло бы | могла бы | вероятно может | наверно может | возможный вариант | возможен"
    ),
    condition=_("если | если бы | при условии | допустим | предположим | разве что | в случае | зависит"),
    report=_(
        "говорят что | он сказал | она сказала | он считает | она считает | он выбрал | она выбрала | по его мнению | можно подумать | можно было бы | якобы | мне сказали | мне сказал | мне говорили"
    ),
    given_up=_(
        "сначала | изначально | вначале | на первый взгляд | я думал | думал | думала | я считал | казалось | поначалу | первоначально | я хотел | сперва | чуть не | был бы | была бы | показалось"
    ),
    consider=_(
        "рассмотрим | рассмотреть | проверим | проверить | посмотрим | сравним | сравнить | по сравнению | что насчёт | что насчет | касательно | оценим | проанализируем | относительно | между"
    ),
    correction=_(
        "нет | точнее | вернее | исправление | извините | простите | на самом деле | ошибка | исправлюсь | поправка | ой | подумав"
    ),
    contrast=_("но | однако | а | зато | на самом деле | тем не менее | впрочем | в действительности"),
    otherwise=_("иначе | в противном случае"),
    neutral=_(
        "без сомнения | без сомнений | несомненно | нет сомнений | сомнений нет | не только | не что иное | ничто иное | остальные | остальные варианты | другие варианты | если бы мне пришлось | если присмотреться | если посмотреть | если не ошибаюсь | не иначе | вне всякого сомнения | а также | как видно | не вызывает сомнений | а именно | а значит"
    ),
    either=_("или | либо"),
    both=_("и | оба | обе | а также"),
    filler=_(
        "явно | очевидно | определённо | определенно | скорее всего | вероятно | наверное | конечно | я | мы | мой | моя | наш | самый | наиболее | здесь | безусловно | точно | разумеется | же | и | на | этот вопрос | под | под буквой | на вопрос | это | вопрос | вероятнее всего | именно | за | бесспорно | тут"
    ),
    function=_(
        "на | в | это | и | изображении | изображён | изображен | изображена | изображено | картинке | фото | фотографии | я | вижу | видно | есть | с | по | к | у | из | от | для | что | как | он | она | оно | они | мы | животное | этом | этой | тут | здесь | виден | видна | показан | показана | показано | находится | стоит | сидит | лежит | очень | был | была | того | так"
    ),
    yes=_("да | верно | правильно | конечно | так точно"),
    no=_("нет | неа | не верно"),
    true=_("правда | верно | истина | истинно | правильно"),
    false=_("ложь | неверно | ложно | неправда | неправильно"),
    bound=_(
        "не менее | не более | более | менее | больше | меньше | как минимум | как максимум | по крайней мере | свыше | до | от | между | почти | минимум | максимум | после | раньше | позже"
    ),
    label=_(
        "рисунок | рис | таблица | страница | шаг | вопрос | изображение | номер | часть | фото | задание | строка"
    ),
    modifier=_(
        "маленький | маленькая | большой | большая | белый | белая | чёрный | черный | чёрная | рыжий | рыжая | коричневая | коричневый | красный | зелёный | синий | серый | серая | молодой | молодая | красивая | красивый | слева | справа"
    ),
    abstain=_(
        "не знаю | не могу | невозможно определить | извините | простите | к сожалению | нельзя определить | затрудняюсь"
    ),
    person=_(
        "кто-то | некоторые | многие | другие | люди | студент | студентка | ученик | ученица | учитель | друг | подруга | коллега | пользователь | модель | эксперты | большинство"
    ),
    opinion=_(
        "сказал | сказала | сказали | говорит | говорят | думает | думают | считает | считают | выбрал | выбрала | выбрали | выбирают | ответил | ответила | утверждает | полагают | сказали бы | думал | скажут | скажет | подумают | выберут | ответят"
    ),
    withdraw=_("подождите | постойте | стоп | погодите | я ошибся | ошибся | хотя нет | шучу | забудьте"),
    match=_("подходит | соответствует | описывает | совпадает | остаётся | остается"),
    that=_("что | чтобы"),
    self=_("я | мой | мы | моё | мне | думаю | считаю | выбираю"),
    concede=_("хотя | несмотря на | пусть | тогда как"),
    according=_("по словам | по мнению | согласно | как говорит | со слов"),
    source=_(
        "изображению | изображении | картинке | фото | графику | графике | карте | рисунку | легенде | таблице | вопросу | тексту | диаграмме | данным | схеме | моему | на изображении | на картинке | на фото | видно | ясно | очевидно | значит | означает | показывает | показывают | следует | понятно"
    ),
    says=_("говорит | думает | считает | сказал | сказала | полагает | утверждает"),
    about=_("примерно | приблизительно | порядка | около"),
    none=_("ни один из | ни одно из | ни одна из | ни один вариант | ничего из"),
    too=_("слишком"),
)

ARABIC = Language(
    name="Arabic",
    listing=_("الخيارات | كل خيار"),
    total=_("المجموع | إجمالي | الإجمالي | مجموع"),
    present=_("يوجد | توجد | هناك | أرى"),
    at_least=_("على الأقل | لا يقل عن"),
    at_most=_("على الأكثر | لا يزيد عن"),
    more_than=_("أكثر من"),
    less_than=_("أقل من"),
    reference=_("الشكل | شكل | الجدول | صفحة | الخطوة | السؤال"),
    numbers=_(
        "صفر | واحد/واحدة | اثنان/اثنين/اثنتان | ثلاثة/ثلاث | أربعة/أربع | خمسة/خمس | ستة/ست | سبعة/سبع | ثمانية/ثماني | تسعة/تسع | عشرة/عشر"
    ),
    tens=_(
        "عشرون/عشرين | ثلاثون/ثلاثين | أربعون/أربعين | خمسون/خمسين | ستون/ستين | سبعون/سبعين | ثمانون/ثمانين | تسعون/تسعين"
    ),
    tens_and=_("{unit} و{ten}"),
    scales=_("مئة | مائة | ألف | مليون"),
    answer=_(
        "الإجابة | الاجابة | الجواب | إجابة | اجابة | جواب | الحل | إجابتي | اجابتي | جوابي | الإجابة الصحيحة | والإجابة | فالإجابة | الجواب الصحيح | النتيجة | للإجابة | والجواب | فالجواب"
    ),
    option=_(
        "الخيار | خيار | الاختيار | اختيار | الحرف | حرف | البديل | رقم | الخيارات | للخيار | بالخيار | والخيار | فالخيار"
    ),
    copula=_(
        "هي | هو | تكون | يكون | ستكون | سيكون | يجب أن تكون | يجب أن يكون | لا بد أن تكون | تبدو | يبدو | كانت | كان | هما"
    ),
    pronoun=_("هذا | هذه | إنه | إنها | انه | ذلك | تلك | الصورة | هنا | أنه | الحيوان"),
    choose=_(
        "أختار | اختار | سأختار | اخترت | نختار | أرجح | أرجّح | سأذهب مع | يبقى | يتبقى | تبقى | لم يبق سوى | أحدد | أقول | أجيب | أصوت | يشير إلى | يدعم | يطابق"
    ),
    believe=_(
        "أعتقد | اعتقد | أظن | اظن | في رأيي | برأيي | أرى | أعتقد أن | أعتقد أنه | أعتقد أنها | على ما أعتقد | أعتقد أن الإجابة"
    ),
    right=_(
        "الصحيحة | الصحيح | صحيح | صحيحة | صواب | الصواب | الأنسب | الأفضل | المناسب | المناسبة | الأصح | يطابق | تطابق | يناسب | الأدق | دقيق | يتوافق | مناسب | الأكثر ملاءمة"
    ),
    only=_("فقط | وحده | الوحيد | الوحيدة | وحدها"),
    conclude=_(
        "لذلك | إذن | اذن | لذا | وبالتالي | بالتالي | ومن ثم | في الختام | الخلاصة | ختاما | أخيرا | أخيراً | في النهاية | إذًا | إذا ً | وعليه | بناء على ذلك | النهائية | النهائي | باختصار | ختامًا | وهكذا | ولذلك"
    ),
    reason=_(
        "لأن | لأنه | لأنها | بسبب | حيث | نظرا | نظراً | لان | حيث إن | الشرح | التوضيح | بما أن | مع | إذ | وذلك"
    ),
    wrong=_(
        "خاطئ | خاطئة | خطأ | غير صحيح | غير صحيحة | مستبعد | مستبعدة | مستحيل | غير مناسب | غائب | مرفوض | باطل | غير موجود | غير دقيق | غير ممكن | كثير جدا | قليل جدا | كبير جدا | صغير جدا | غير محتمل | الخاطئة | مستبعدان"
    ),
    deny=_(
        "ليس | ليست | ليسا | ليسوا | لا | لم | لن | ليس هو | غير | بدون | دون | استبعد | أستبعد | نستبعد | استبعاد | وليس | وليست | لا يوجد | لا توجد | ولا | نفي | لا أحد"
    ),
    deny_next=_(
        "بدلا من | بدلاً من | باستثناء | ما عدا | وليس | وليست | بخلاف | أي شيء إلا | عدا | سوى | على عكس | مقارنة ب"
    ),
    doubt=_("أشك | اشك | مشكوك | لست متأكدا | لست متأكداً | لست متأكدة | لا أعتقد | لا أظن | لا أدري"),
    possible=_(
        "ربما | قد | قد يكون | قد تكون | محتمل | من المحتمل | من الممكن | يمكن أن | ممكن | لعل | لعله"
    ),
    condition=_(
        "إذا | اذا | لو | إن كان | في حال | بشرط | على افتراض | لنفترض | يعتمد | ما لم | إن كانت | فيما لو"
    ),
    report=_("يقال | حسب رأيه | قد يظن | يظن البعض | قال لي"),
    given_up=_(
        "في البداية | بداية | أول الأمر | للوهلة الأولى | ظننت | اعتقدت | كنت أظن | كنت أعتقد | في الأول | بدا | كدت | مبدئيا"
    ),
    consider=_(
        "لننظر | دعنا | دعونا | لنفحص | لنتحقق | فلننظر | مقارنة | بالمقارنة | لنقارن | ماذا عن | بالنسبة | فلنتحقق | بين | تحقق | نتحقق | أتحقق"
    ),
    correction=_("لا | كلا | عفوا | عفواً | آسف | تصحيح | في الواقع | بل | أقصد | في الحقيقة | معذرة"),
    contrast=_(
        "لكن | ولكن | بل | غير أن | إلا أن | مع ذلك | إنما | وإنما | في الواقع | لكنه | لكنها | ولكنها | ولكنه | رغم ذلك"
    ),
    otherwise=_("وإلا | خلاف ذلك | غير ذلك"),
    neutral=_(
        "بلا شك | بدون شك | دون شك | لا شك | من دون شك | لا ريب | ليس فقط | لا غير | الخيارات الأخرى | باقي الخيارات | بقية الخيارات | لو كان علي | إذا كان علي | إذا نظرنا | إن لم أكن مخطئا | لا محالة | ما هو | ما هي | وما | كما نرى | قد تم | لا يمكن أن تكون إلا"
    ),
    either=_("أو | او | إما | أم"),
    both=_("و | كلا | كلاهما | كل من | معا"),
    filler=_(
        "بوضوح | بالتأكيد | بالطبع | حتما | على الأرجح | غالبا | من الواضح | أن | إن | أنا | بلا شك | هي | هو | هنا | عن السؤال | على السؤال | لهذا السؤال | السؤال | الأكثر | جدا | حرف | هذا | هذه | إذن | تماما | كذلك | فهو | فهي | أنها | أنه | بأن | قطعا"
    ),
    function=_(
        "في | من | على | إلى | هذا | هذه | الصورة | صورة | يظهر | تظهر | نرى | أرى | هو | هي | أن | إن | مع | عن | التي | الذي | هناك | يوجد | توجد | كان | كانت | حيوان | وهو | وهي | ثم | كل | هنا | تم | به | بها | إنه | إنها | المعروضة | تعرض"
    ),
    yes=_("نعم | أجل | بلى | صحيح"),
    no=_("لا | كلا | ليس"),
    true=_("صحيح | صواب | صحيحة"),
    false=_("خطأ | خاطئ | خاطئة | غير صحيح"),
    bound=_(
        "على الأقل | على الأكثر | أكثر من | أقل من | أكبر من | أصغر من | ما بين | بين | حتى | حوالي بين | لا يقل عن | لا يزيد عن | يتجاوز | فوق | تحت"
    ),
    label=_("الشكل | شكل | الجدول | صفحة | الخطوة | السؤال | الصورة رقم | رقم"),
    abstain=_("لا أعرف | لا أستطيع | لا يمكنني | لا يمكن تحديد | آسف | عذرا | عذراً | غير قادر | لا يمكن"),
    person=_(
        "شخص ما | أحدهم | البعض | كثيرون | الكثير | الآخرون | الناس | الطالب | طالب | المعلم | صديقي | صديق | زميلي | المستخدم | نموذج آخر | بعض الناس | أحد الطلاب"
    ),
    opinion=_(
        "قال | قالت | يقول | يقولون | يظن | يظنون | يعتقد | يعتقدون | اختار | يختار | أجاب | زعم | ذكر | رأى"
    ),
    withdraw=_("انتظر | لحظة | مهلا | أخطأت | أمزح"),
    match=_("يطابق | تطابق | يناسب | يتوافق"),
    that=_("أن | أنه | أنها"),
    self=_("أنا | أعتقد | أختار | أظن | نحن | أرى | إجابتي"),
    concede=_("رغم | على الرغم | بالرغم | بينما | مع أن"),
    according=_("حسب | وفقا ل | وفقًا ل | بحسب | على حد قول | وفق | طبقا ل"),
    source=_(
        "الصورة | للصورة | الرسم | للرسم | الخريطة | الشكل | الجدول | السؤال | النص | البيانات | للبيانات | المخطط | واضح | الواضح | يعني | يدل | نرى | يتضح"
    ),
    says=_("قال | يقول | قالت | تقول | يعتقد | يظن"),
    about=_("حوالي | تقريباً | نحو | تقريبا"),
    none=_("لا شيء مما | ليس أي من | لا أحد من الخيارات | لا يوجد خيار"),
)

HINDI = Language(
    name="Hindi",
    listing=_("विकल्पों | प्रत्येक विकल्प"),
    total=_("कुल | कुल मिलाकर"),
    present=_("है | हैं"),
    absent=_("नहीं"),
    at_least=_("कम से कम"),
    at_most=_("अधिक से अधिक"),
    and_more=_("से अधिक | से ज्यादा | से ज़्यादा"),
    and_less=_("से कम"),
    reference=_("चित्र | तालिका | पृष्ठ | चरण | प्रश्न"),
    numbers=_(
        "शून्य | एक | दो | तीन | चार | पाँच/पांच | छह/छः | सात | आठ | नौ | दस | ग्यारह | बारह | तेरह | चौदह | पंद्रह | सोलह | सत्रह | अठारह | उन्नीस | बीस"
    ),
    tens=_("बीस | तीस | चालीस | पचास | साठ | सत्तर | अस्सी | नब्बे"),
    last_units=_(
        "इक्कीस=21 | बाईस=22 | तेईस=23 | चौबीस=24 | पच्चीस=25 | छब्बीस=26 | सत्ताईस=27 | अट्ठाईस=28 | उनतीस=29 | इकतीस=31 | बत्तीस=32"
    ),
    scales=_("सौ | हज़ार | हजार | लाख | करोड़"),
    answer=_("उत्तर | जवाब | सही उत्तर | सही जवाब | हल | समाधान | अंतिम उत्तर | उत्तरः | परिणाम"),
    option=_("विकल्प | ऑप्शन | अक्षर | चयन | विकल्पों"),
    copula=_("है | हैं | होगा | होना चाहिए | हो सकता है केवल | था | होगी | लगता है | दिखता है | ही है"),
    pronoun=_("यह | ये | इसका | वह | इस | चित्र | तस्वीर | छवि"),
    choose=_(
        "चुनता हूँ | चुनती हूँ | चुनूँगा | चुनूंगा | चुनता हूं | चुनूँगी | चुनेंगे | चुनते हैं | चुना | चुनें | का चयन करता हूँ | चयन करता हूँ | बचता है | बचा | रह जाता है | कहूँगा | कहूंगा | चुनूंगी"
    ),
    believe=_(
        "मुझे लगता है | मेरे विचार से | मेरे अनुसार | मेरा मानना है | मेरे ख्याल से | मेरी राय में | मुझे विश्वास है | मैं मानता हूँ | मेरा अनुमान है"
    ),
    right=_(
        "सही | ठीक | उचित | उपयुक्त | सर्वोत्तम | सटीक | सबसे उपयुक्त | मेल खाता है | सत्य | सबसे सही | मेल खाता | सबसे अच्छा"
    ),
    only=_("केवल | सिर्फ | सिर्फ़ | एकमात्र | मात्र"),
    conclude=_(
        "इसलिए | अतः | इस प्रकार | निष्कर्ष | अंत में | अंततः | तो | इसीलिए | अत: | फलस्वरूप | निष्कर्षतः | अंतिम | अन्ततः | कुल मिलाकर"
    ),
    reason=_("क्योंकि | कारण | चूंकि | चूँकि | व्याख्या | के साथ | स्पष्टीकरण | जो"),
    wrong=_(
        "गलत | ग़लत | असत्य | अनुचित | असंभव | अनुपस्थित | हटा | बाहर | संभव नहीं | बहुत कम | बहुत ज्यादा | बहुत अधिक | बहुत बड़ा | बहुत छोटा | अमान्य | त्रुटिपूर्ण | खारिज"
    ),
    deny=_("न | ना | न तो | बिना | कोई नहीं"),
    deny_next=_("बजाय"),
    deny_last=_("नहीं | नही | के बजाय | की बजाय | के अलावा | को छोड़कर | के सिवा | मत"),
    doubt=_("संदेह | शक | पक्का नहीं | निश्चित नहीं | नहीं लगता | पता नहीं | यकीन नहीं"),
    possible=_("हो सकता है | सकता है | संभवतः हो | संभव है | संभव | सकती है | संभावना | हो सकती है | शायद"),
    condition=_("अगर | यदि | मान लीजिए | बशर्ते | निर्भर | होता तो | मान लें"),
    report=_("ने कहा | कहते हैं | के अनुसार उसका"),
    given_up=_(
        "शुरू में | शुरुआत में | प्रारंभ में | पहली नज़र में | पहली नजर में | सोचा | सोचा था | लगा था | लग रहा था | मूल रूप से | पहले मैंने | पहले मुझे | पहले लगा | पहले तो | मैंने सोचा"
    ),
    consider=_("देखते हैं | जांच | जाँच | विचार करें | तुलना | विचार करते हैं | की तुलना में | के बारे में | देखें"),
    correction=_("नहीं | माफ़ कीजिए | माफ कीजिए | सुधार | वास्तव में | असल में | दरअसल | क्षमा करें | बल्कि"),
    contrast=_("लेकिन | परंतु | परन्तु | मगर | किंतु | किन्तु | बल्कि | वास्तव में"),
    otherwise=_("अन्यथा | नहीं तो | वरना"),
    neutral=_(
        "निस्संदेह | बिना किसी संदेह | बिना संदेह | कोई संदेह नहीं | इसमें कोई संदेह नहीं | इसमें कोई शक नहीं | न केवल | अन्य विकल्प | बाकी विकल्प | बाकी | यदि मुझे चुनना | के रूप में | अगर मुझे चुनना | नहीं बल्कि"
    ),
    either=_("या | अथवा | या फिर"),
    both=_("और | तथा | एवं | दोनों | व"),
    filler=_(
        "स्पष्ट रूप से | निश्चित रूप से | संभवतः | निश्चित | का | की | के | को | में | से | ही | भी | मैं | हम | मेरा | इस प्रश्न का | प्रश्न का | सबसे | यह | हूँ | स्पष्टतः | बिल्कुल | ज़रूर | अवश्य | प्रश्न | वाला | कि | ने | हमारा | इस | बेशक"
    ),
    function=_(
        "में | का | की | के | को | से | है | हैं | एक | यह | ये | वह | इस | चित्र | तस्वीर | छवि | दिख | रहा | रही | दिखाई | देता | देती | जानवर | पर | और | कि | था | थी | हो | गया | मैं | हम | दिखाया | दिया"
    ),
    yes=_("हाँ | हां | जी हाँ | जी हां | जी | बिल्कुल"),
    no=_("नहीं | नही | जी नहीं | ना"),
    true=_("सत्य | सही | सच"),
    false=_("असत्य | गलत | झूठ | ग़लत"),
    bound=_("कम से कम | अधिक से अधिक | से अधिक | से ज्यादा | से कम | के बीच | तक | से ज़्यादा"),
    label=_("चित्र | तालिका | पृष्ठ | चरण | प्रश्न"),
    modifier=_("छोटा | छोटी | बड़ा | बड़ी | सुंदर | काला | काली | सफेद | भूरा | भूरी | लाल | हरा | नीला | पीला"),
    abstain=_("पता नहीं | नहीं बता सकता | निर्धारित नहीं | माफ़ कीजिए | क्षमा करें | नहीं कहा जा सकता | असमर्थ"),
    person=_(
        "किसी ने | किसी | कुछ लोग | कई लोग | लोग | छात्र | विद्यार्थी | शिक्षक | दोस्त | मित्र | उसने | उन्होंने | अन्य लोग | दूसरे मॉडल | उपयोगकर्ता | सहकर्मी"
    ),
    opinion=_("कहा | कहते | कहता | कहती | सोचते | सोचता | चुना | चुनते | मानते | बताया | उत्तर दिया | कहेंगे | लगता"),
    withdraw=_("रुकिए | रुको | गलती हो गई | मज़ाक"),
    match=_("मेल खाता है | मेल खाता | बचता है"),
    that=_("कि"),
    copula_last=_("है | हैं | होगा | होगी | ही है | होना चाहिए"),
    self=_("मैं | मेरा | मेरे | हम | मुझे | मेरी"),
    concede=_("हालांकि | हालाँकि | यद्यपि | भले ही | जबकि"),
    according=_("के अनुसार | के मुताबिक | की राय में"),
    source=_(
        "चित्र | तस्वीर | छवि | चार्ट | मानचित्र | तालिका | प्रश्न | आंकड़ों | मेरे | ग्राफ | स्पष्ट | दिखाता | दिखाती | पता चलता"
    ),
    says=_("कहता | कहती | कहा | कहते | मानता | मानती"),
    about=_("करीब | तकरीबन | लगभग"),
    none=_("इनमें से कोई नहीं | कोई भी विकल्प | कोई विकल्प"),
)

VIETNAMESE = Language(
    name="Vietnamese",
    listing=_("các lựa chọn | các đáp án | từng đáp án | mỗi đáp án"),
    total=_("tổng cộng | tổng | tất cả"),
    present=_("có"),
    absent=_("không"),
    at_least=_("ít nhất | tối thiểu"),
    at_most=_("tối đa | nhiều nhất | không quá"),
    more_than=_("hơn | nhiều hơn"),
    less_than=_("dưới | ít hơn | gần"),
    or_more=_("trở lên"),
    or_less=_("trở xuống"),
    reference=_("hình | bảng | trang | bước | câu"),
    numbers=_(
        "không | một | hai | ba | bốn | năm | sáu | bảy | tám | chín | mười | mười một | mười hai | mười ba | mười bốn | mười lăm | mười sáu | mười bảy | mười tám | mười chín | hai mươi"
    ),
    tens=_("hai mươi | ba mươi | bốn mươi | năm mươi | sáu mươi | bảy mươi | tám mươi | chín mươi"),
    tens_and=_("{ten} {unit}"),
    last_units=_("mốt=1 | tư=4 | lăm=5 | nhăm=5"),
    scales=_("trăm | nghìn | ngàn | triệu | tỷ | mươi"),
    answer=_(
        "đáp án | câu trả lời | trả lời | lời giải | kết quả | đáp án đúng | đáp án cuối cùng | đáp án chính xác"
    ),
    option=_("phương án | lựa chọn | chữ cái | câu | ý | phương án đúng | chữ | mục"),
    copula=_(
        "là | phải là | sẽ là | chính là | chắc là | thì là | ắt là | có thể chỉ là | nên là | dường như là"
    ),
    pronoun=_("đây | đó | nó | này | hình | bức ảnh | con vật | hình ảnh | đây là | đó là"),
    choose=_(
        "chọn | tôi chọn | xin chọn | tôi sẽ chọn | em chọn | chọn đáp án | còn lại | chỉ còn | chỉ còn lại | bỏ phiếu cho | nghiêng về | mình chọn | khoanh"
    ),
    believe=_(
        "tôi nghĩ | tôi cho rằng | theo tôi | tôi tin | tôi đoán | tôi tin rằng | tôi nghĩ rằng | mình nghĩ | theo ý kiến của tôi | em nghĩ"
    ),
    right=_(
        "đúng | chính xác | phù hợp | đúng nhất | phù hợp nhất | hợp lý | hợp lý nhất | tốt nhất | khớp | chuẩn | thích hợp nhất | thích hợp | đúng đắn | chính xác nhất | mô tả đúng"
    ),
    only=_("chỉ | chỉ có | duy nhất"),
    conclude=_(
        "vậy | do đó | vì vậy | vì thế | cho nên | nên | kết luận | tóm lại | cuối cùng | như vậy | do vậy | suy ra | thế nên | tổng kết"
    ),
    reason=_("vì | bởi vì | do | bởi | lý do | giải thích | với | tại vì | dựa vào"),
    wrong=_(
        "sai | không đúng | không chính xác | không phù hợp | bị loại | không hợp lý | vắng mặt | không tồn tại | quá ít | quá nhiều | quá lớn | quá nhỏ | bị loại trừ | không khớp | không có trong | sai lầm"
    ),
    deny=_(
        "không | không phải | không phải là | chẳng phải | chẳng | chưa | loại | loại trừ | loại bỏ | không có | không chọn | đừng chọn | không thấy | chả | không ai"
    ),
    deny_next=_(
        "thay vì | thay cho | chứ không phải | chứ không phải là | ngoại trừ | trừ | khác với | ngoài | so với | mà không phải"
    ),
    doubt=_(
        "nghi ngờ | không chắc | không chắc là | không nghĩ | không tin | liệu | khó nói | tôi không nghĩ"
    ),
    possible=_("có thể | có khả năng | biết đâu | hoặc có thể | có thể là | chắc có thể | có lẽ"),
    condition=_("nếu | giả sử | nếu như | trừ khi | trong trường hợp | tùy | tuỳ | giá mà | miễn là"),
    report=_("có người nói | người ta nói | nghe nói"),
    given_up=_(
        "ban đầu | lúc đầu | thoạt đầu | thoạt nhìn | đã nghĩ | tưởng | tôi tưởng | mới đầu | lúc đầu tôi | đã định | suýt chọn | từng nghĩ"
    ),
    consider=_(
        "xem xét | kiểm tra | xét | hãy xem | so sánh | xem thử | cân nhắc | phân tích | còn về | đối với | thử | giữa"
    ),
    correction=_("không | xin lỗi | thực ra | thật ra | đính chính | sửa lại | à không | nói đúng hơn"),
    contrast=_("nhưng | tuy nhiên | mà là | thực ra | thật ra | thế nhưng | thực tế"),
    otherwise=_("nếu không | không thì | ngược lại"),
    neutral=_(
        "không nghi ngờ gì | không còn nghi ngờ | chắc chắn | không chỉ | không thể khác | các đáp án khác | các lựa chọn khác | các phương án khác | các phương án còn lại | các đáp án còn lại | nếu phải chọn | không ai khác | nếu nhìn kỹ | không những | ngoài ra | còn lại đều sai | loại nào | loại hình | nên chọn | với nhau | câu hỏi | nói cách khác | có thể nói | nói chung"
    ),
    either=_("hoặc | hay | hoặc là | hay là"),
    both=_("và | cả | cả hai | cùng"),
    filler=_(
        "rõ ràng | chắc chắn | chắc hẳn | chính | tôi | của tôi | cho câu hỏi | cho câu hỏi này | của câu hỏi này | câu hỏi này | hiển nhiên | nhất | ở đây | rất | sẽ | rằng | này | thì | chắc | dĩ nhiên | cuối cùng"
    ),
    function=_(
        "là | của | trong | trên | và | có | một | con | hình | ảnh | bức | này | đó | đây | thấy | tôi | được | cho | với | các | những | chiếc | cái | người | vật | ở | tại | đang | câu | hỏi | không | phải | loài | màu | nhìn | vào | ra | đã"
    ),
    yes=_("có | đúng | vâng | phải | dạ | đúng vậy"),
    no=_("không | không phải | sai"),
    true=_("đúng | chính xác"),
    false=_("sai | không đúng"),
    bound=_(
        "ít nhất | nhiều nhất | hơn | nhiều hơn | ít hơn | trên | dưới | lớn hơn | nhỏ hơn | tối thiểu | tối đa | từ | khoảng từ | không quá | gần | chưa đến"
    ),
    label=_("hình | bảng | trang | bước | câu | số"),
    modifier=_("nhỏ | lớn | to | đẹp | trẻ | già"),
    abstain=_(
        "không biết | không thể xác định | xin lỗi | không rõ | không thể trả lời | không xác định được"
    ),
    person=_(
        "ai đó | một số người | nhiều người | người khác | học sinh | sinh viên | giáo viên | bạn tôi | bạn của tôi | người ta | anh ấy | cô ấy | có người | mọi người | mô hình khác | người dùng | thầy giáo | cô giáo | đồng nghiệp"
    ),
    opinion=_("nói | nghĩ | cho rằng | chọn | trả lời | bảo | tin | khẳng định | đoán | đã chọn"),
    withdraw=_("khoan | đợi đã | chờ đã | tôi nhầm | chờ chút | đùa thôi | nhầm rồi"),
    match=_("phù hợp | khớp | mô tả đúng | đúng nhất"),
    that=_("rằng"),
    self=_("tôi | mình | em | chúng tôi | theo tôi"),
    concede=_("mặc dù | dù | tuy | trong khi"),
    according=_("theo | theo lời | theo ý kiến"),
    source=_(
        "hình | ảnh | hình ảnh | biểu đồ | bản đồ | bảng | câu hỏi | văn bản | dữ liệu | tôi | chú thích | sơ đồ | bức | bức ảnh | cho thấy | rõ ràng | thấy rằng | có nghĩa là"
    ),
    says=_("nói | bảo | cho rằng"),
    about=_("khoảng | xấp xỉ | chừng"),
    none=_("không có đáp án nào | không đáp án nào | không có lựa chọn nào | không phương án nào"),
)

INDONESIAN = Language(
    name="Indonesian",
    listing=_("pilihannya | setiap pilihan | semua pilihan"),
    total=_("total | totalnya | jumlah | semuanya"),
    present=_("ada | terdapat"),
    months=_(
        "januari | februari | maret | april | mei | juni | juli | agustus | september | oktober | november | desember"
    ),
    at_least=_("setidaknya | paling sedikit | minimal"),
    at_most=_("paling banyak | maksimal"),
    more_than=_("lebih dari"),
    less_than=_("kurang dari | hampir"),
    or_more=_("atau lebih"),
    or_less=_("atau kurang"),
    reference=_("gambar | tabel | halaman | langkah | soal"),
    numbers=_(
        "nol | satu | dua | tiga | empat | lima | enam | tujuh | delapan | sembilan | sepuluh | sebelas | dua belas | tiga belas | empat belas | lima belas | enam belas | tujuh belas | delapan belas | sembilan belas | dua puluh"
    ),
    tens=_(
        "dua puluh | tiga puluh | empat puluh | lima puluh | enam puluh | tujuh puluh | delapan puluh | sembilan puluh"
    ),
    tens_and=_("{ten} {unit}"),
    scales=_("seratus | ratus | seribu | ribu | juta | puluh | belas"),
    answer=_(
        "jawaban | jawabannya | jawaban yang benar | jawaban akhir | solusi | hasilnya | hasil | jawaban saya | jawab"
    ),
    option=_("opsi | pilihan | huruf | alternatif | pilihan jawaban | poin | butir"),
    copula=_(
        "adalah | ialah | yaitu | merupakan | yakni | harus | seharusnya | seharusnya adalah | pasti | tampaknya | sepertinya | haruslah | akan menjadi"
    ),
    pronoun=_("ini | itu | gambar | hewan | ia | dia | gambar ini | tersebut"),
    choose=_(
        "memilih | saya memilih | pilih | saya pilih | dipilih | tersisa | yang tersisa | menjawab | saya jawab | saya akan memilih | memutuskan | cenderung memilih | menunjukkan | sisanya"
    ),
    believe=_(
        "saya pikir | saya rasa | menurut saya | saya yakin | saya percaya | menurutku | saya menduga | tebakan saya | saya berpendapat | saya kira"
    ),
    right=_(
        "benar | tepat | betul | paling tepat | sesuai | cocok | terbaik | paling sesuai | akurat | paling cocok | paling benar | menggambarkan"
    ),
    only=_("hanya | cuma | satu-satunya"),
    conclude=_(
        "jadi | maka | oleh karena itu | karena itu | dengan demikian | kesimpulan | kesimpulannya | akhirnya | sehingga | singkatnya | akhir | maka dari itu | oleh sebab itu | dapat disimpulkan"
    ),
    reason=_("karena | sebab | dikarenakan | penjelasan | alasan | dengan | berdasarkan | mengingat | yang"),
    wrong=_(
        "salah | tidak benar | tidak tepat | keliru | tidak sesuai | tidak cocok | mustahil | tidak mungkin | tereliminasi | dieliminasi | dikecualikan | dicoret | tidak ada | tidak valid | gugur"
    ),
    deny=_(
        "bukan | bukanlah | tidak | tak | tiada | tanpa | jangan | mengeliminasi | menyingkirkan | eliminasi | singkirkan | coret | belum | bukannya | tak seorang pun | tidak seorang pun"
    ),
    deny_next=_(
        "daripada | alih-alih | kecuali | selain | dan bukan | berbeda dengan | dibandingkan | ketimbang | tetapi bukan"
    ),
    doubt=_("ragu | meragukan | saya ragu | tidak yakin | apakah | tidak yakin apakah | saya tidak yakin"),
    possible=_(
        "mungkin | bisa jadi | barangkali | kemungkinan | bisa saja | boleh jadi | sebuah kemungkinan"
    ),
    condition=_("jika | kalau | apabila | bila | andaikan | seandainya | asalkan | tergantung | misalkan"),
    report=_("katanya | dia bilang | konon | orang mungkin"),
    given_up=_(
        "awalnya | mula-mula | pada awalnya | sekilas | semula | pada mulanya | tadinya | saya sempat | hampir memilih"
    ),
    consider=_(
        "mari kita | mari | periksa | pertimbangkan | bandingkan | dibandingkan dengan | lihat | cek | bagaimana dengan | mengenai | tinjau | antara"
    ),
    correction=_("tidak | maaf | koreksi | sebenarnya | maksud saya | eh | perbaikan | bukan | ups"),
    contrast=_(
        "tetapi | tapi | namun | melainkan | akan tetapi | sebenarnya | justru | sedangkan | kenyataannya"
    ),
    otherwise=_("jika tidak | kalau tidak | bila tidak"),
    neutral=_(
        "tanpa ragu | tidak diragukan | tidak diragukan lagi | tidak hanya | bukan hanya | pilihan lain | pilihan lainnya | opsi lain | opsi lainnya | jika harus memilih | tidak lain | jika dilihat | tidak salah lagi | kalau tidak salah | tidak perlu | tak lain | tiada lain"
    ),
    either=_("atau | ataupun"),
    both=_("dan | keduanya | serta | maupun"),
    filler=_(
        "jelas | pasti | tentu | tentunya | saya | yang | untuk pertanyaan ini | dari pertanyaan ini | pertanyaan ini | sangat | paling | kemungkinan besar | memang | di sini | kita | jelas sekali | sudah | untuk | akan | dari | tersebut"
    ),
    function=_(
        "yang | di | dan | ini | itu | adalah | gambar | dalam | pada | seekor | sebuah | saya | melihat | terlihat | ada | dengan | untuk | dari | ke | hewan | tersebut | seorang | orang | foto | menunjukkan | tampak | terdapat | sedang | oleh | sini | tidak | bukan"
    ),
    yes=_("ya | iya | benar | betul | ada"),
    no=_("tidak | bukan | tak | enggak | nggak"),
    true=_("benar | betul"),
    false=_("salah | tidak benar"),
    bound=_(
        "setidaknya | paling sedikit | paling banyak | lebih dari | kurang dari | minimal | maksimal | antara | hingga | hampir | di atas | di bawah | sekurang-kurangnya | tidak lebih dari"
    ),
    label=_("gambar | tabel | halaman | langkah | soal | nomor"),
    modifier=_("kecil | besar | muda | tua | cantik"),
    abstain=_("tidak tahu | tidak bisa | tidak dapat | maaf | mustahil | tidak mungkin menentukan"),
    person=_(
        "seseorang | beberapa orang | banyak orang | orang lain | siswa | murid | mahasiswa | guru | teman | orang-orang | dia | pengguna | model lain | rekan | ada yang | sebagian orang"
    ),
    opinion=_(
        "bilang | berkata | mengatakan | memilih | menjawab | berpikir | mengira | berpendapat | menganggap | menduga | percaya"
    ),
    withdraw=_("tunggu | saya salah | bercanda | ralat | sebentar"),
    match=_("sesuai | cocok | menggambarkan"),
    that=_("bahwa"),
    self=_("saya | aku | kami | kita | menurut saya"),
    concede=_("meskipun | walaupun | meski | walau | sementara | sekalipun"),
    according=_("menurut | berdasarkan pendapat"),
    source=_(
        "gambar | foto | grafik | peta | tabel | pertanyaan | teks | diagram | data | saya | legenda | soal | gambar ini | menunjukkan | berarti | jelas | terlihat"
    ),
    says=_("mengatakan | bilang | berkata | berpendapat"),
    about=_("sekitar | kira-kira | kurang lebih"),
    none=_("tidak ada pilihan | tidak satu pun | bukan salah satu"),
    too=_("terlalu"),
)

TURKISH = Language(
    name="Turkish",
    listing=_("seçenekler | şıklar | her seçenek"),
    total=_("toplam | toplamda"),
    present=_("var | görüyorum"),
    absent=_("yok | değil | görmüyorum"),
    months=_(
        "ocak | şubat | mart | nisan | mayıs | haziran | temmuz | ağustos | eylül | ekim | kasım | aralık"
    ),
    at_least=_("en az"),
    at_most=_("en fazla | en çok"),
    less_than=_("neredeyse"),
    or_more=_("veya daha fazla"),
    and_more=_("'den fazla | 'dan fazla | 'ten fazla | 'tan fazla"),
    and_less=_("'den az | 'dan az | 'ten az | 'tan az"),
    reference=_("şekil | tablo | sayfa | adım | soru"),
    numbers=_(
        "sıfır | bir | iki | üç | dört | beş | altı | yedi | sekiz | dokuz | on | on bir | on iki | on üç | on dört | on beş | on altı | on yedi | on sekiz | on dokuz | yirmi"
    ),
    tens=_("yirmi | otuz | kırk | elli | altmış | yetmiş | seksen | doksan"),
    tens_and=_("{ten} {unit}"),
    scales=_("yüz | bin | milyon | milyar"),
    answer=_(
        "cevap | yanıt | cevabı | cevabım | yanıtı | yanıtım | çözüm | doğru cevap | doğru yanıt | nihai cevap | sonuç | cevabın | cevaptır | cevabıdır | yanıttır"
    ),
    option=_(
        "seçenek | seçeneği | seçeneğidir | seçeneğini | şık | şıkkı | şıkkıdır | şıkkını | harf | harfi | seçeneğinde | seçeneğine | seçeneğinin | tercih | seçeneğin | şıkkın | seçenektir"
    ),
    copula=_(
        "dir | dır | olmalı | olmalıdır | olur | olacaktır | olarak | olacak | ise | gibi görünüyor | görünüyor | idi | şudur | olduğunu"
    ),
    pronoun=_("bu | o | şu | resim | görsel | hayvan | burada | bunlar"),
    choose=_(
        "seçiyorum | seçerim | seçtim | seçelim | seçiyoruz | seçilmeli | işaretliyorum | tercih ediyorum | derim | diyorum | kalıyor | kalır | geriye kalan | geriye | seçeceğim | kalan"
    ),
    believe=_(
        "bence | sanırım | düşünüyorum | inanıyorum | tahminimce | kanımca | bana göre | tahmin ediyorum | düşünüyorum ki | zannediyorum | tahminim"
    ),
    right=_(
        "doğru | doğrudur | uygun | uygundur | en uygun | en iyi | en doğru | uyuyor | eşleşiyor | geçerli | isabetli | uyar | tutarlı | karşılıyor | uymaktadır"
    ),
    only=_("sadece | yalnızca | tek | yalnız"),
    conclude=_(
        "bu yüzden | bu nedenle | dolayısıyla | o halde | yani | sonuç olarak | sonuçta | öyleyse | böylece | kısacası | nihai | son olarak | özetle | demek ki | bundan dolayı | son"
    ),
    reason=_("çünkü | zira | nedeniyle | açıklama | için | nedeni | dolayı | ile"),
    wrong=_(
        "yanlış | yanlıştır | hatalı | hatalıdır | elenir | elendi | eleniyor | imkansız | olamaz | uymuyor | uymaz | geçersiz | dışlanır | uygun değil | doğru değil | yok | yoktur | çok az | çok fazla | çok büyük | çok küçük | elenebilir | elenmiştir | olası değil | uymamaktadır"
    ),
    deny=_("hiçbir | kimse"),
    deny_last=_(
        "değil | değildir | yerine | hariç | dışında | olamaz | değilse | olmaz | aksine | ziyade | olmadığı | eliyorum | eleyebiliriz | eleriz | eliyoruz"
    ),
    doubt=_(
        "şüpheliyim | emin değilim | şüphe | sanmıyorum | düşünmüyorum | şüpheli | kararsızım | zannetmiyorum"
    ),
    possible=_("belki | olabilir | mümkün | muhtemel | olası | ihtimal | belki de"),
    condition=_("eğer | olsaydı | şayet | diyelim | varsayalım | koşuluyla | takdirde | olsa | bağlı olarak"),
    report=_("diyorlar | söyleniyor | denir"),
    given_up=_(
        "başta | ilk başta | başlangıçta | ilk bakışta | sanmıştım | düşünmüştüm | düşündüm | sandım | ilk olarak | zannettim | az kalsın | ilk önce | önce"
    ),
    consider=_(
        "inceleyelim | bakalım | kontrol edelim | değerlendirelim | karşılaştıralım | kıyasla | hakkında | göz önüne | düşünelim | arasında"
    ),
    correction=_(
        "hayır | aslında | düzeltme | pardon | özür dilerim | yok | daha doğrusu | düzeltiyorum | affedersiniz"
    ),
    contrast=_("ama | fakat | ancak | lakin | aslında | oysa | halbuki | yine de | aksine | bilakis"),
    otherwise=_("aksi halde | aksi takdirde | yoksa | değilse"),
    neutral=_(
        "şüphesiz | kuşkusuz | hiç şüphesiz | şüphe yok | şüphe yok ki | şüpheye yer yok | sadece değil | diğer seçenekler | diğer şıklar | diğerleri | seçmem gerekirse | eğer seçmem | seçmek zorunda | başka bir şey değil | dikkatli bakarsak | eğer yanılmıyorsam"
    ),
    either=_("veya | ya da | yahut | ya"),
    both=_("ve | hem | ile | ikisi de | hem de"),
    article=_("bir"),
    filler=_(
        "açıkça | kesinlikle | muhtemelen | büyük ihtimalle | en | bu | ben | benim | biz | bu sorunun | sorunun | burada | elbette | tabii | tabii ki | net | gayet | de | da | şüphesiz | olan | olarak | bu soru için | cevabı | doğru | tam"
    ),
    function=_(
        "bir | bu | ve | resim | resimde | görselde | görsel | görüyorum | görünüyor | görülüyor | var | ile | için | de | da | hayvan | o | çok | en | gibi | olan | olarak | ben | fotoğrafta | mi | mı | mu | mü | üzerinde | altında | içinde | değil | şu | ne"
    ),
    yes=_("evet | var | doğru | tabii"),
    no=_("hayır | yok | değil"),
    true=_("doğru | doğrudur"),
    false=_("yanlış | yanlıştır"),
    bound=_(
        "en az | en fazla | en çok | daha fazla | daha az | fazla | az | üzerinde | altında | arasında | kadar | neredeyse | aşkın"
    ),
    label=_("şekil | tablo | sayfa | adım | soru | resim | numara"),
    modifier=_(
        "küçük | büyük | güzel | genç | yaşlı | kırmızı | mavi | yeşil | siyah | beyaz | kahverengi | sarı | tek | sol | sağ"
    ),
    letter_endings=_(
        "dir | dır | dur | dür | tir | tır | tur | tür | yi | yı | i | ı | ye | ya | nin | nın | den | dan | de | da | u | ü | yu | yü | e | a"
    ),
    abstain=_(
        "bilmiyorum | emin değilim | belirleyemiyorum | üzgünüm | mümkün değil | söyleyemem | kusura bakmayın"
    ),
    person=_(
        "birisi | biri | bazıları | bazı insanlar | birçok kişi | çoğu kişi | öğrenci | öğretmen | arkadaşım | insanlar | kullanıcı | başka bir model | herkes | arkadaş | meslektaşım"
    ),
    opinion=_(
        "dedi | diyor | söyledi | söylüyor | düşünüyor | seçti | seçer | derler | cevapladı | iddia | inanıyor | sanıyor | der"
    ),
    withdraw=_("bekle | bekleyin | yanılmışım | dur | şaka | hata yaptım"),
    match=_("uyuyor | eşleşiyor | uyar | uymaktadır | kalıyor | karşılıyor"),
    copula_last=_("dir | dır | olmalı | olmalıdır | olacaktır"),
    self=_("ben | bence | benim | biz | seçiyorum | düşünüyorum | bana"),
    concede=_("rağmen | her ne kadar | iken | olsa da"),
    according=_("göre | nin dediğine göre"),
    source=_(
        "resme | görsele | grafiğe | haritaya | şekle | tabloya | soruya | metne | bana | verilere | fotoğrafa"
    ),
    says=_("söylüyor | diyor | dedi | söyledi | düşünüyor"),
    about=_("yaklaşık | aşağı yukarı | civarında"),
    none=_("hiçbiri | hiçbir seçenek | hiçbir şık"),
)

LANGUAGES: Mapping[str, Language] = {
    "en": ENGLISH,
    "zh": CHINESE,
    "ja": JAPANESE,
    "ko": KOREAN,
    "fr": FRENCH,
    "de": GERMAN,
    "es": SPANISH,
    "pt": PORTUGUESE,
    "it": ITALIAN,
    "ru": RUSSIAN,
    "ar": ARABIC,
    "hi": HINDI,
    "vi": VIETNAMESE,
    "id": INDONESIAN,
    "tr": TURKISH,
}
