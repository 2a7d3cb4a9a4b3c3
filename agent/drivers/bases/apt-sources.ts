/** One line or stanza of apt's configuration, with the location of an archive and the keys that sign it. */
export interface AptSource {
  uri: string
  suites: string[]
  components: string[]
  /** Path of a keyring. Null for the keyrings apt trusts by default. */
  signedBy: string | null
}

/** Parses the binary archives in a one-line style file (`sources.list`, `*.list`). Skips lines of any other form. */
export function parseListFile(text: string): AptSource[] {
  const sources: AptSource[] = []
  for (const line of text.split('\n')) {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line)
    if (match === null) continue
    const [, options = '', uri = '', suite = '', components = ''] = match
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(options)?.[1]
    sources.push({ uri, suites: [suite], components: words(components), signedBy: keyringPath(signedBy) })
  }
  return sources
}

/** Parses the binary archives in a deb822 style file (`*.sources`). Skips disabled stanzas and any of another form. */
export function parseSourcesFile(text: string): AptSource[] {
  const sources: AptSource[] = []
  for (const stanza of text.split(/\n\s*\n/)) {
    const fields = parseFields(stanza)
    const types = words(fields.get('types') ?? '')
    if (!types.includes('deb') || /^(no|false|0)$/i.test((fields.get('enabled') ?? '').trim())) continue
    for (const uri of words(fields.get('uris') ?? '')) {
      sources.push({
        uri,
        suites: words(fields.get('suites') ?? ''),
        components: words(fields.get('components') ?? ''),
        signedBy: keyringPath(fields.get('signed-by')?.trim()),
      })
    }
  }
  return sources
}

/** Finds the first archive with this suite, of a kind that can provide a base. */
export function findSuite(sources: readonly AptSource[], suite: string): AptSource | null {
  return sources.find((source) => source.suites.includes(suite) && FETCHABLE.test(source.uri)) ?? null
}

/** Formats the source as a line for a suite, with its keyring if it has one. */
export function formatSource(source: AptSource, suite: string): string {
  const options = source.signedBy === null ? '' : `[signed-by=${source.signedBy}] `
  return `deb ${options}${source.uri} ${suite} ${source.components.join(' ')}`
}

/** Removes name and password from an archive's address. */
export function stripCredentials(uri: string): string {
  return uri.replace(/^(\w+:\/\/)[^/@]*@/, '$1')
}

function parseFields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>()
  let name: string | undefined
  for (const line of stanza.split('\n')) {
    if (line.startsWith('#')) continue
    const match = /^([\w-]+):(.*)$/.exec(line)
    if (match !== null) {
      name = (match[1] ?? '').toLowerCase()
      fields.set(name, match[2] ?? '')
    } else if (name !== undefined && /^\s/.test(line)) {
      fields.set(name, `${fields.get(name) ?? ''}\n${line}`)
    }
  }
  return fields
}

/** Returns the path of a keyring. Returns null for a fingerprint, or a key in the file itself, which apt's own keyrings cover. */
function keyringPath(value: string | undefined): string | null {
  return value?.startsWith('/') === true ? (value.split(/[\s,]/)[0] ?? null) : null
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

const FETCHABLE = /^(https?|file|copy|mirror\+file):/
