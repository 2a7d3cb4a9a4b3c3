import type { HealthFault } from './schemas/health.ts'

/** Formats faults for the health report: as sentences for people, and in parts for programs. */
export function viewFaults(faults: readonly HealthFault[]): { errors: string[]; problems: HealthFault[] } {
  return { errors: faults.map(sentenceOf), problems: faults.map((fault) => ({ ...fault })) }
}

/** Formats a fault as one sentence on one line: evidence may be several, or the output of another program. */
function sentenceOf({ evidence, remedy }: HealthFault): string {
  return `${asClause(evidence)}; remedy: ${asClause(remedy)}.`.replaceAll(/\s+/g, ' ')
}

function asClause(text: string): string {
  return text
    .trim()
    .replace(/\.$/, '')
    .replaceAll(/\.\s+(?=\S)/g, '; ')
}
