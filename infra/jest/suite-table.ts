import { tableOf } from '../markdown.ts'
import { suitesOf } from './selection.ts'
import type { Suite } from './suite.ts'
import { SUITES } from './suites.ts'

/** Renders the suites for CONTRIBUTING.md: purpose, schedule, and minutes on two cores. */
export function suiteTable(): string {
  const rows = SUITES.map((suite) => [`\`${suite.name}\``, suite.what, whenOf(suite), String(suite.minutes)])
  return tableOf(['Suite', 'Proves', 'Runs', 'Minutes'], rows)
}

function whenOf(suite: Suite): string {
  if (suitesOf([]).suites.includes(suite)) return '`npm test`'
  const turn = suite.turn === null ? '' : `, CI at turn ${suite.turn}`
  const needs = [suite.needsCluster ? 'Kubernetes' : null, suite.lane ?? null, ...(suite.peers ?? [])].filter(
    (need) => need !== null,
  )
  return `by name, \`test:all\`${turn}${needs.length === 0 ? '' : `; needs ${needs.join(', ')}`}`
}
