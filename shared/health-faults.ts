import type { HealthFault } from './schemas/health.ts'

/** What is wrong, as the health report tells it: a sentence for a person, and the same in parts for a program. */
export function viewFaults(faults: readonly HealthFault[]): { errors: string[]; problems: HealthFault[] } {
  return { errors: faults.map(sentenceOf), problems: faults.map((fault) => ({ ...fault })) }
}

/** One line: some evidence is what another program said. */
function sentenceOf({ evidence, remedy }: HealthFault): string {
  return `${withoutStop(evidence)}; remedy: ${withoutStop(remedy)}.`.replaceAll(/\s+/g, ' ')
}

function withoutStop(text: string): string {
  return text.trim().replace(/\.$/, '')
}
