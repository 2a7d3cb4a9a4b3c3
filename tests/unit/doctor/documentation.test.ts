import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { DOCTOR_CODES } from '../../../agent/doctor/findings.ts'
import { ROOT } from '../../../infra/commands.ts'

/** Files that name problems of the health report. */
const SOURCES = [
  ...['agent/core/health/health.ts', 'agent/core/health/subvolume-faults.ts', 'agent/drivers/edge/supervisor.ts'],
  ...['agent/drivers/network/name-servers.ts', 'agent/drivers/network/problems.ts'],
  ...['agent/drivers/pods/cluster-facts-problems.ts', 'agent/lib/kube/errors.ts'],
  ...[
    'agent/compose/fleet-kube.ts',
    'agent/core/edge/leads.ts',
    'agent/core/fleet/away-cells.ts',
    'agent/core/fleet/domain-claims.ts',
    'agent/core/fleet/membership.ts',
    'agent/drivers/boxes/box-limits.ts',
    'agent/drivers/boxes/disk-limits.ts',
    'agent/drivers/host/terminals.ts',
    'agent/drivers/pods/cluster-facts.ts',
    'agent/drivers/pods/network.ts',
    'functions/agent-answer.ts',
  ],
]

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Returns the codes in the first column of the table under a heading of docs/operations.md. */
function documented(heading: string): string[] {
  const page = read('docs/operations.md')
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, code = '']) => code))
}

describe('docs/operations.md', () => {
  test('tells of everything that doctor finds, and of nothing else', () => {
    expect(documented('Doctor findings').sort()).toEqual([...DOCTOR_CODES].sort())
  })

  test('tells of every problem of the health report, and of nothing else', () => {
    const named = SOURCES.flatMap((path) =>
      [...read(path).matchAll(/(?:code: |measure\(|code: .* \? |: |\[)'([a-z]+(?:_[a-z]+)+|draining)'/g)].map(
        ([, code]) => code,
      ),
    )
    const problems = new Set(named.filter((code) => !NO_PROBLEMS.has(code ?? '')))
    expect(documented('Health problems').sort()).toEqual([...problems].sort())
  })
})

/** Other words in those files: error codes of the API, and kinds of metrics. */
const NO_PROBLEMS: ReadonlySet<string> = new Set([
  ...['runtime_unavailable', 'quota_exceeded', 'invalid_request', 'load_avg', 'not_found'],
])
