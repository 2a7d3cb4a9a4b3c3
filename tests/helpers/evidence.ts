/** Returns current lines that help to explain a failed test. */
export type EvidenceSource = () => readonly string[] | Promise<readonly string[]>

/**
 * Name of the global variable with the sources of the running test file. tests/environment.mjs sets it and adds their lines to a failure.
 */
export const EVIDENCE = 'boxyardEvidence'

/** Adds a source for the running test file. Does nothing outside a test file. */
export function addEvidence(source: EvidenceSource): void {
  ;(globalThis as { [EVIDENCE]?: EvidenceSource[] })[EVIDENCE]?.push(source)
}

/** Creates a source of the last lines passed to `note`. */
export function keepLastLines(title: string): { note(line: string): void; source: EvidenceSource } {
  const lines: string[] = []
  return {
    note: (line) => {
      lines.push(`${new Date().toISOString().slice(11, 23)} ${line.slice(0, SHOWN_CHARACTERS)}`)
      if (lines.length > SHOWN_LINES) lines.shift()
    },
    source: () => (lines.length === 0 ? [] : [title, ...lines]),
  }
}

/** Returns the lines of all sources. Adds a line for a source that fails or hangs. */
export async function readEvidence(sources: readonly EvidenceSource[]): Promise<string[]> {
  const texts = sources.map(async (source) => {
    const late = new Promise<string[]>((resolve) => {
      setTimeout(() => resolve(['(a source of evidence did not answer)']), SOURCE_MS).unref()
    })
    return await Promise.race([late, (async () => source())()]).catch((error: unknown) => [String(error)])
  })
  return (await Promise.all(texts)).flat()
}

const SHOWN_LINES = 8
const SHOWN_CHARACTERS = 400
const SOURCE_MS = 5_000
