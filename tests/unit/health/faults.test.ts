import { describe, expect, test } from '@jest/globals'
import { viewFaults } from '../../../shared/health-faults.ts'
import { healthSchema } from '../../../shared/schemas/health.ts'

const fault = { code: 'disk_full', evidence: 'The disk has 2 MiB left.', remedy: 'Free space: state needs it.' }

describe('problems of the health report', () => {
  test('are an array of strings, one line each, and structured beside it', () => {
    const other = { code: 'forwarding_off', evidence: 'ip_forward is 0', remedy: 'Run `sysctl -w x=1`' }
    const view = viewFaults([fault, other])
    expect(view).toEqual({
      errors: [
        'The disk has 2 MiB left. Remedy: Free space: state needs it.',
        'ip_forward is 0. Remedy: Run `sysctl -w x=1`.',
      ],
      problems: [fault, other],
    })
    healthSchema.parse({ status: 'degraded', api: { api_version: 'v1' }, ...view })
  })

  test('are one line even if the evidence is several sentences', () => {
    const { errors } = viewFaults([{ ...fault, evidence: 'No node fits. 0/1 are available. (a, b)' }])
    expect(errors).toEqual(['No node fits. 0/1 are available. (a, b). Remedy: Free space: state needs it.'])
  })

  test('are one line even if a program printed several', () => {
    const { errors, problems } = viewFaults([{ ...fault, evidence: 'It ended:\n  no such file\n' }])
    expect(errors).toEqual(['It ended: no such file. Remedy: Free space: state needs it.'])
    expect(problems[0]?.evidence).toBe('It ended:\n  no such file\n')
  })

  test('are empty without a fault', () => {
    expect(viewFaults([])).toEqual({ errors: [], problems: [] })
  })
})

test('the health report refuses errors that are no strings', () => {
  const report = { status: 'degraded', api: { api_version: 'v1' }, errors: [fault] }
  expect(healthSchema.safeParse(report).success).toBe(false)
})
