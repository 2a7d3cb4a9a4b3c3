/** The settings of a stage that its operator sets. They are options of `npm run deploy`, and SSM parameters of the same names. */
export const SETTINGS = [
  'agent-url',
  'subnet-ids',
  'security-group-ids',
  'cors-origins',
  'domain',
  'certificate',
  'console-certificate',
  'hosted-zone',
  'alarm-topic',
] as const

export type Setting = (typeof SETTINGS)[number]

/** A value for each setting. `none` means that it is not set, because SSM knows no empty values. */
export type StageSettings = Record<Setting, string>

/** The value of an absent setting. */
export const NONE = 'none'

/** Returns the checked name of a stage. @throws Error if it is invalid in names of resources */
export function checkStage(stage: string): string {
  if (/^[a-z][a-z0-9-]{0,19}$/.test(stage)) return stage
  throw new Error(`--stage ${stage}: expected 1–20 of a–z, 0–9 and hyphens, with a letter first.`)
}

/**
 * Returns the settings of a stage. Takes the settings of the last deployment, and overrides them with the new ones.
 * @throws Error naming the option, its value, and the expected form
 */
export function mergeSettings(kept: Partial<StageSettings>, given: Partial<StageSettings>): StageSettings {
  const settings = Object.fromEntries(
    SETTINGS.map((name) => [name, given[name] ?? kept[name] ?? NONE]),
  ) as StageSettings
  for (const name of SETTINGS) checkForm(name, settings[name])
  checkTogether(settings)
  return settings
}

/** @throws Error unless the way to the agent is private: a network of the account, or mutual TLS */
export function checkChannel(settings: StageSettings, hasTls: boolean): void {
  const scheme = new URL(settings['agent-url']).protocol
  if (hasTls !== (scheme === 'https:')) {
    const wanted = hasTls
      ? 'https://…, because the stage has certificates for the connection to the agent'
      : 'http://…, or --channel-ca, --channel-cert and --channel-key beside it'
    throw new Error(`--agent-url ${settings['agent-url']}: expected ${wanted}.`)
  }
  if (!hasTls && settings['subnet-ids'] === NONE) {
    throw new Error(
      'A public address of the agent needs mutual TLS. Set --channel-ca, --channel-cert and --channel-key, or --subnet-ids.',
    )
  }
}

function checkForm(name: Setting, value: string): void {
  if (value === NONE && name !== 'agent-url') return
  const { matches, expected } = FORMS[name]
  if (!matches(value)) throw new Error(`--${name} ${value}: expected ${expected}.`)
}

function checkTogether(settings: StageSettings): void {
  const isGiven = (name: Setting): boolean => settings[name] !== NONE
  if (isGiven('subnet-ids') !== isGiven('security-group-ids')) {
    throw new Error('--subnet-ids and --security-group-ids: set both or neither.')
  }
  if (isGiven('domain') !== isGiven('certificate')) throw new Error('--domain and --certificate: set both or neither.')
  if (isGiven('console-certificate') && !isGiven('domain'))
    throw new Error('--console-certificate: needs --domain, which serves both the console and the API.')
  if (isGiven('hosted-zone') && !isGiven('domain')) throw new Error('--hosted-zone: needs --domain.')
}

const FORMS: Record<Setting, { matches(value: string): boolean; expected: string }> = {
  'agent-url': { matches: isOrigin, expected: 'http://host:port, or https://host:port with mutual TLS' },
  'subnet-ids': { matches: listOf(/^subnet-[0-9a-z]+$/), expected: 'subnet-…, separated by commas' },
  'security-group-ids': { matches: listOf(/^sg-[0-9a-z]+$/), expected: 'sg-…, separated by commas' },
  'cors-origins': {
    matches: (value) => value === '*' || value.split(',').every(isOrigin),
    expected: 'origins such as https://app.example.com, separated by commas, or *',
  },
  domain: { matches: (value) => /^([a-z0-9-]{1,63}\.)+[a-z]{2,63}$/.test(value), expected: 'a host name' },
  certificate: {
    matches: (value) => /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[\w-]+$/.test(value),
    expected: 'the ARN of an ACM certificate',
  },
  'console-certificate': {
    matches: (value) => /^arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate\/[\w-]+$/.test(value),
    expected: 'the ARN of an ACM certificate in us-east-1, which CloudFront requires',
  },
  'hosted-zone': { matches: (value) => /^[A-Z0-9]{1,32}$/.test(value), expected: 'the ID of a Route 53 zone' },
  'alarm-topic': {
    matches: (value) => /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w.-]+$/.test(value),
    expected: 'the ARN of an SNS topic',
  },
}

function isOrigin(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === value
}

function listOf(form: RegExp): (value: string) => boolean {
  return (value) => value.split(',').every((item) => form.test(item))
}
