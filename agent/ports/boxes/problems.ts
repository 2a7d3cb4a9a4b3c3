/** A problem that boxes run with, for the health report. */
export interface RuntimeProblem {
  code: string
  evidence: string
  remedy: string
}
