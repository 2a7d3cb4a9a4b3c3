import type { HealthFault } from './schemas/health.ts'

/** Formats faults for the health report, as lines for people, and in parts for programs. */
export function viewFaults(faults: readonly HealthFault[]): { errors: string[]; problems: HealthFault[] } {
  return { errors: faults.map(lineOf), problems: faults.map((fault) => ({ ...fault })) }
}

/** Formats a fault on one line. Evidence can be several sentences, or the output of another program. */
function lineOf({ evidence, remedy }: HealthFault): string {
  return `${asSentences(evidence)} Remedy: ${asSentences(remedy)}`.replaceAll(/\s+/g, ' ')
}

function asSentences(text: string): string {
  return text.trim().replace(/\.?$/, '.')
}
