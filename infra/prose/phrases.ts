/** A phrase to avoid, and a suggestion. */
export interface Phrase {
  name: string
  pattern: RegExp
  use: string
}

export const phrase = (name: string, pattern: RegExp, use: string): Phrase => ({
  name,
  pattern: new RegExp(pattern, `${pattern.flags.replace('g', '')}g`),
  use,
})

const PARTICIPLE = String.raw`\s+(?:now |not |also )?(?:\w+(?:ed|ing)|read|written|sent|made|built|put|given|taken|shown|known|run)\b`
const THING =
  '(?:token|box|name|directory|file|key|address|path|user|command|number|snapshot|project|volume|secret|service|port)'

/** Words and phrases that are banned in docs, help, messages, the console and comments. */
export const BANNED: readonly Phrase[] = [
  phrase('tell', /\b(?:tells?|told|telling)\b(?!(?: \S+){1,4} apart\b)/i, 'report, return, list, show or print'),
  phrase('that of', /\b(?:that|those) of\b(?! course)/i, 'the noun again, or its possessive'),
  phrase('of which', /\bof (?:which|whom)\b/i, 'a second sentence, or "including"'),
  phrase('by itself', /\bby (?:it|them|him)sel(?:f|ves)\b/i, '"automatically", or leave it out'),
  phrase('as by', /(?<!\b(?:such|well|just) )\bas by\b/i, 'a verb: "as X does"'),
  phrase('anew', /\banew\b/i, 'again, or a verb with re-: reload, recreate'),
  phrase('meanwhile', /\bmeanwhile\b/i, '"while …", or leave it out'),
  phrase('likewise', /\blikewise\b/i, '"also", or name the same thing again'),
  phrase(
    'go on',
    /\b(?:go|goes|went|gone|going) on\b(?! (?:the|a|an|each|every|its|your|top)\b)(?!\?)/i,
    'continue, keep running',
  ),
  phrase(
    'it may',
    /\b(?:it|they|who|token|tokens) may (?:do|read|write|use|exec|reach|call|see|list|delete)\b|\bwhat (?:it|they) may\b/i,
    'can, is allowed to',
  ),
  phrase('whoever', /\bwho(?:so)?ever\b/i, 'anyone who, or name them: the client, the user'),
  phrase('nobody', /\bnobody\b(?!:)/i, 'no client, no user, "never"'),
  phrase('from then on', /\bfrom (?:then|there|now) on\b/i, '"after that", or name the event'),
  phrase('has to be', /\b(?:has|have|had|having) to be\b/i, 'must, or an imperative'),
  phrase('so is', /(?<!\b(?:or|if|not) )\bso (?:is|are|has|have|was|were)\b(?! not\b)/i, '"also", or repeat the verb'),
  phrase(
    'alone',
    /(?<!\b(?:leav\w+|left|let|run|runs|runn\w+|stand\w*)\b(?: \S+){0,4} )(?<![-\w])\balone\b/i,
    'only, just',
  ),
  phrase(
    'as it is',
    new RegExp(String.raw`\bas (?:it|they) (?:is|are|was|were)\b(?!${PARTICIPLE})`, 'i'),
    'unchanged, the current …',
  ),
  phrase('take up', /\b(?:takes?|took|taken|taking) up\b/i, 'accept, start'),
  phrase('be let', /\b(?:is|are|was|were|be|been|being) let\b|\blets? in\b/i, 'allow, accept'),
  phrase('fare', /\bfare[sd]?\b/i, 'status, result'),
  phrase('stand for', /\b(?:stands?|stood|standing) for\b/i, 'mean, represent, mark'),
  phrase('one who', /\b(?:one|ones|all|those|he|any) who\b/i, 'name them: a client that, a user who'),
  phrase('for the sake of', /\bfor the sake of\b/i, 'for, because of'),
  phrase('is over', /\b(?:is|are|was) over(?=[.,;:)]|$)/i, 'has ended, has expired'),
  phrase(
    'is no',
    new RegExp(String.raw`\b(?:this|it|that|which|who|what|X+) (?:is|are) no ${THING}`, 'i'),
    "isn't a …",
  ),
  phrase('no bound', /\bno bounds?\b/i, 'unlimited, no limit'),
  phrase('that is all', /\bthat is all\b/i, '"end of …"'),
  phrase('is like that', /\b(?:is|are) like that\b/i, 'match'),
  phrase('has not come', /\bha(?:s|ve) not come\b/i, 'could not be loaded, is missing'),
  phrase('start again', /\bstart(?:s|ed|ing)? again\b(?! and again)/i, 'restart'),
  phrase('turn away', /\bturn(?:s|ed|ing)? away\b/i, 'reject'),
  phrase('mend', /\bmend(?:s|ed|ing)?\b/i, 'fix, repair'),
  phrase('for ever', /\bfor ever\b/i, 'forever, without a limit'),
  phrase('some ten', /\bsome (?:\d[\d,.]*|two|three|four|five|ten|twenty|thirty)\b/i, 'about'),
]

/** Old words of ours, with the words of the field. */
export const GLOSSARY: readonly Phrase[] = [
  phrase('door', /\b(?<!back)doors?\b(?!bell)/i, 'entry point, gateway, ingress node'),
  phrase('placing', /\bplacings?\b(?! (?:it|them|a|the)\b)/i, 'scheduler, placement'),
  phrase(
    'home',
    /(?<=\b(?:a|the|its|their|no|of|new|one|which|whose|box's) )homes?\b(?! director| page| network| folder| of (?:the user|root))|\bhomes\b/i,
    'ownership record, claim',
  ),
  phrase('card', /\bcards?\b(?! numbers?\b)/i, 'cached summary, last known state'),
  phrase('leads', /(?<=\b(?:the|its|their|of|no|new|and|other) )leads\b(?! to\b)/i, 'cross-node routes'),
  phrase('pulse', /\bpulses?\b/i, 'liveness probe'),
  phrase('patience', /\bpatien(?:ce|t|tly)\b/i, 'circuit breaker'),
  phrase('silence', /(?<!\bin )\bsilences?\b/i, 'timeout'),
  phrase('gather', /\bgather(?:s|ed|ing)?\b/i, 'scatter-gather, fan out'),
  phrase('valve', /\bvalves?\b/i, 'flow control'),
  phrase('in turn', /\b(?:flow|fair) turns\b|\binTurn\b/, 'fair queue'),
  phrase('lingering', /\blingering\b/i, 'orphaned stdio'),
  phrase('notices', /(?<=\b(?:the|of|by|for|its|their|no|all|and) )notices\b/i, 'subscriptions'),
  phrase('verb', /\bverbs?\b/i, 'command'),
  phrase('hurry', /\bhurr(?:y|ies|ied|ying)\b/i, 'flush, cut short'),
  phrase('tidy', /\btid(?:y|ies|ied|ying)\b/i, 'compact'),
  phrase('isTold', /\bisTold\b/, 'published'),
  phrase('figures', /\bfigures\b/i, 'metrics'),
  phrase('facts', /\bfacts\b/i, 'details'),
  phrase('mint', /\bmint(?:s|ed|ing|er)?\b/i, 'create a token'),
  phrase('bearer', /\bbearers\b(?! (?:tokens|auth))|\bbearer of\b/i, 'anyone with a token'),
  phrase('wish', /\bwish(?:es|ed)?\b/i, 'request'),
  phrase('upkeep', /\bupkeep\b/i, 'retention'),
  phrase('grave', /\bgraves?\b/i, 'tombstone'),
  phrase('chore', /\bchores?\b/i, 'task'),
  phrase('terminal gate', /\bterminal[- ]gates?\b/i, 'terminal starter'),
  phrase('stranger', /\bstrangers?\b/i, 'unauthenticated client'),
  phrase('insight', /\binsights?\b/i, 'space usage, changes'),
  phrase('anybody', /\banybody\b/i, 'anyone'),
]

/** Sentences that open without a noun as their subject. Questions are exempt. */
export const RELATIVE: readonly Phrase[] = [
  phrase(
    'What …',
    /^["'(“]*(?:And |But |So )?(?:What|Whatever|That which)\b/,
    'a noun: the agent, a box, the client, you',
  ),
  phrase('Who …', /^["'(“]*(?:And |But |So )?(?:Who|Whom|Whose|Those who|He who)\b/, 'anyone who, the client, you'),
  phrase('How what …', /^["'(“]*How (?:what|who)\b/, 'a verb: chooses, sends'),
  phrase('; what …', /[;:] (?:what|who|whose)\b(?! (?:you|we|I)\b)/, 'a new sentence with a noun as its subject'),
  phrase('Of the …', /^["'(“]*Of (?:the|all|its|a|an|each|every|X+)\b/, 'the usual order: subject, verb'),
]

const IRREGULAR =
  'made|kept|taken|given|shown|written|read|sent|held|found|known|done|seen|built|run|put|set|left|lost|cut|begun|chosen|drawn|driven|forgotten|frozen|hidden|laid|led|meant|met|paid|said|sold|sought|spent|split|spread|stolen|struck|sworn|thrown|told|torn|understood|undone|woken|worn|bound|brought|bought|caught|fed|felt|fought|got|gotten|heard|shut|shot|broken|spoken'

/** A passive. Some adjectives match as well, so this is a hint with a free share. */
export const PASSIVE = new RegExp(
  String.raw`\b(?:is|are|was|were|be|been|being)\s+(?:(?:not|never|also|then|only|still|first|thus|all|both|[a-z]+ly)\s+)?(?:[a-z]+ed|${IRREGULAR})\b`,
  'i',
)
