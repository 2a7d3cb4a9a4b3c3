/** Parses a list of CPUs such as `0-3,5`, as the kernel writes it. Pure. */
export function parseCpus(text: string): number[] {
  return text
    .trim()
    .split(',')
    .filter(Boolean)
    .flatMap((part) => {
      const [first = 0, last = first] = part.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    })
}

/** A box with its CPUs. `load` is the number of CPUs that it keeps busy. */
export interface BoundBox {
  id: string
  cpus: readonly number[]
  load: number
}

/**
 * Chooses `count` of the `available` CPUs for a box. Prefers those it has, then the least loaded. Takes them all if there are fewer. Pure.
 */
export function chooseCpus(
  { available, held, count }: { available: readonly number[]; held: readonly number[]; count: number },
  others: readonly BoundBox[],
): number[] {
  const loads = loadsOf(others, available)
  const byLoad = available.toSorted((a, b) => (loads.get(a) ?? 0) - (loads.get(b) ?? 0))
  const kept = byLoad.filter((cpu) => held.includes(cpu))
  const added = byLoad.filter((cpu) => !held.includes(cpu))
  return [...kept, ...added].slice(0, count).sort((a, b) => a - b)
}

/**
 * Plans which boxes to bind to other CPUs, so that no CPU is much busier than another. Plans at most 16 moves, and none that gains less
 * than a tenth of a CPU. Pure.
 */
export function planMoves(boxes: readonly BoundBox[], available: readonly number[]): { id: string; cpus: number[] }[] {
  const current = new Map(boxes.map((box) => [box.id, box]))
  const moved = new Map<string, number[]>()
  for (let moves = 0; moves < MOVES_MAX; moves++) {
    const loads = [...loadsOf([...current.values()], available)].sort(([, a], [, b]) => a - b)
    const [[coldest, low] = [0, 0], [hottest, high] = [0, 0]] = [loads[0], loads.at(-1)]
    const gainOf = ({ cpus, load }: BoundBox): number => Math.min(load / cpus.length, high - low - load / cpus.length)
    const [best] = [...current.values()]
      .filter(({ cpus }) => cpus.includes(hottest) && !cpus.includes(coldest))
      .sort((a, b) => gainOf(b) - gainOf(a))
    if (best === undefined || gainOf(best) < GAIN_MIN) break
    const cpus = [...best.cpus.filter((cpu) => cpu !== hottest), coldest].sort((a, b) => a - b)
    current.set(best.id, { ...best, cpus })
    moved.set(best.id, cpus)
  }
  return [...moved].map(([id, cpus]) => ({ id, cpus }))
}

function loadsOf(boxes: readonly BoundBox[], available: readonly number[]): Map<number, number> {
  const loads = new Map(available.map((cpu) => [cpu, 0]))
  for (const { cpus, load } of boxes)
    for (const cpu of cpus) if (loads.has(cpu)) loads.set(cpu, (loads.get(cpu) ?? 0) + load / cpus.length)
  return loads
}

const MOVES_MAX = 16
const GAIN_MIN = 0.1
