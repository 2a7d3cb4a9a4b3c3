import { createHash } from 'node:crypto'
import { findSites, type MutationSite } from './operators.ts'

/**
 * A change of one place in a source. Its `id` consists of the file, a digest of the line, the operator, and two numbers. The numbers count
 * equal lines before the line, and earlier places of the operator in the line. The id stays the same in another tree while the line
 * exists, even if the line moves within the file.
 */
export interface Mutant extends MutationSite {
  id: string
  file: string
  line: number
}

/** Lists all mutants of a source. */
export function listMutants(file: string, text: string): Mutant[] {
  const lines = text.split('\n').map((line) => line.trim())
  const starts = startsOfLines(text)
  const places = new Map<string, number>()
  return findSites(text).map((site) => {
    const line = starts.findLastIndex((start) => start <= site.start)
    const content = lines[line] ?? ''
    const copy = lines.slice(0, line).filter((other) => other === content).length
    const prefix = `${file}:${hash(content).slice(0, LINE_DIGITS)}.${copy}:${site.operator}`
    const place = places.get(prefix) ?? 0
    places.set(prefix, place + 1)
    return { ...site, id: `${prefix}.${place}`, file, line: line + 1 }
  })
}

/** Draws `count` mutants by the seed. One mutant more or less in `mutants` replaces at most one in the draw. */
export function drawMutants(mutants: readonly Mutant[], { seed, count }: { seed: number; count: number }): Mutant[] {
  const keyed = mutants.map((mutant) => ({ mutant, key: hash(`${seed}:${mutant.id}`) }))
  return keyed
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

/** Finds the mutants of an earlier sample. The lines of those in `gone` no longer exist. */
export function keepMutants(mutants: readonly Mutant[], ids: readonly string[]): { kept: Mutant[]; gone: string[] } {
  const byId = new Map(mutants.map((mutant) => [mutant.id, mutant]))
  return { kept: ids.flatMap((id) => byId.get(id) ?? []), gone: ids.filter((id) => !byId.has(id)) }
}

function startsOfLines(text: string): number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const LINE_DIGITS = 12
