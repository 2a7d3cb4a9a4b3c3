/** First words of commands by topic, in the order of the help and the reference. */
export const GROUPS: readonly (readonly [title: string, words: string])[] = [
  ['Boxes', 'create ls info update stop resume restart wait fork rm lease publish unpublish url open'],
  [
    'Commands, consoles and ports',
    'exec console sessions ps logs signal commands ssh ssh-config port-forward proxy ssh-proxy',
  ],
  ['Files', 'cp cat edit sync files'],
  ['Snapshots', 'snapshot'],
  ['Services', 'service deploy promote rollback discard'],
  ['Data volumes and backups', 'volume backup'],
  ['Bases', 'base'],
  ['Activity', 'top metrics events audit storage'],
  ['Access', 'projects token me quota set-quota ticket console-url'],
  ['The service', 'health version limits operation scrub openapi problems problem'],
  ['This command line', 'login logout use context api completion'],
]

/** Compares commands by group and by their order in it, as the help lists them. */
export function byHelp({ words: one }: { words: string }, { words: other }: { words: string }): number {
  return placeOfWord(one) - placeOfWord(other)
}

function placeOfWord(words: string): number {
  const all = GROUPS.flatMap(([, members]) => members.split(' '))
  return all.indexOf(words.split(' ')[0] ?? '')
}

/** Returns the title of a command's group. @throws Error for a command without a group */
export function groupOf(words: string): string {
  const [first = ''] = words.split(' ')
  const group = GROUPS.find(([, members]) => members.split(' ').includes(first))
  if (group === undefined) throw new Error(`"${first}" is in no group of the help`)
  return group[0]
}

/** Topics of the first words that have second words. */
export const TOPICS: Readonly<Record<string, string>> = {
  backup: 'Backups of data volumes',
  base: 'Bases to create boxes from',
  commands: 'Records of commands that ran in boxes',
  context: 'The services that you are logged in to',
  files: 'Single file operations in a box',
  service: 'Long-running programs that start with their box',
  sessions: 'Terminal sessions',
  snapshot: 'Snapshots of boxes',
  ticket: 'URLs that allow one request without a token',
  token: 'Access tokens',
  volume: 'Data volumes',
  'volume snapshot': 'Snapshots of data volumes',
}
