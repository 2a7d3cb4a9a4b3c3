import type { Config } from '../../api/records.ts'

/** An effective setting, with its description. */
export interface Setting {
  name: string
  value: string
  /** Description from the contract. Empty if the name says it. */
  about: string
}

/** Settings that belong together. */
export interface SettingGroup {
  title: string
  settings: readonly Setting[]
}

/** Returns the effective configuration in groups. `texts` are the contract's descriptions, by the path of a field in the answer. */
export function settingGroups(config: Config, texts: Readonly<Record<string, string>>): SettingGroup[] {
  const { drivers, defaults, limits, shares, region, nesting, bases, features } = config
  const { config: ofBox, quota, ...others } = defaults
  const rows = (path: string, values: Readonly<Record<string, unknown>>, prefix = ''): Setting[] =>
    Object.entries(values).map(([name, value]) => ({
      name: `${prefix}${name}`,
      value: path === 'limits' ? limitText(name, value) : valueText(value),
      about: texts[path === '' ? name : `${path}.${name}`] ?? '',
    }))
  return [
    { title: 'Drivers', settings: rows('drivers', drivers) },
    { title: 'Features', settings: rows('', { region, nesting, bases, features }) },
    {
      title: 'Defaults',
      settings: [
        ...rows('defaults', others),
        ...rows('defaults.config', ofBox, 'config.'),
        ...rows('defaults.quota', quota, 'quota.'),
      ],
    },
    { title: 'Limits', settings: rows('limits', limits) },
    { title: 'Fair shares', settings: Object.entries(shares).map(([name, share]) => shareRow(name, share)) },
  ]
}

/** Returns the groups with the settings that have all words of the text. Omits groups without any. */
export function selectSettings(groups: readonly SettingGroup[], text: string): SettingGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return groups
    .map(({ title, settings }) => ({
      title,
      settings: settings.filter(({ name, value, about }) => {
        const all = `${title} ${name} ${value} ${about}`.toLowerCase()
        return words.every((word) => all.includes(word))
      }),
    }))
    .filter(({ settings }) => settings.length > 0)
}

/** Returns a limit with its unit, which is in the last words of its name. */
export function limitText(name: string, value: unknown): string {
  if (typeof value !== 'number') return valueText(value)
  const count = value.toLocaleString('en')
  if (/(^|_)bytes(_|$)/.test(name)) return `${binaryText(value)}${/per_second/.test(name) ? ' a second' : ''}`
  if (name.endsWith('_seconds')) return value >= 3_600 ? `${count} s (${longText(value)})` : `${count} s`
  if (name.endsWith('_percent')) return `${count} %`
  return count
}

function shareRow(name: string, share: unknown): Setting {
  const { by = [], limit = '', rule = '' } = share as { by?: readonly string[]; limit?: string; rule?: string }
  return { name, value: `by ${by.join(', ')}`, about: `${RULES[rule] ?? rule} The limit is ${limit}.` }
}

function valueText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (value === null) return 'unlimited'
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

function binaryText(bytes: number): string {
  for (const [unit, word] of BINARY) if (bytes >= unit) return `${Number((bytes / unit).toFixed(2))} ${word}`
  return `${bytes} B`
}

function longText(seconds: number): string {
  return seconds >= 86_400 ? `${Number((seconds / 86_400).toFixed(1))} d` : `${Number((seconds / 3_600).toFixed(1))} h`
}

const BINARY: readonly [number, string][] = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
]
const RULES: Readonly<Record<string, string>> = {
  at_most_free: 'No account can hold more than is left free. A single account gets half.',
  per_account: 'Each account has its own limit.',
  fair_queue: 'Waiting requests take turns, one account after another.',
  evict_oldest: 'Above the limit, the accounts with the most entries lose their oldest ones.',
}
