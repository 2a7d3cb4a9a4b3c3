import { describe, expect, test } from '@jest/globals'
import { choosePort } from '../../../agent/core/services/run-starter.ts'
import { withPreview } from '../../../agent/core/services/versions.ts'
import { candidate, deployed, ended, runningService, switched } from '../../helpers/services/records.ts'

describe('the port of a version', () => {
  test('is that of the service while no version uses it', () => {
    expect(choosePort({ ...runningService(), active: null }, [runningService('other')], 'active')).toBe(8080)
    expect(choosePort(runningService(), [], 'active')).toBe(8080)
    expect(choosePort(withPreview(runningService(), candidate()), [], 'preview')).toBe(49_152)
  })

  test('is one that no service of the box has', () => {
    const record = withPreview(runningService(), candidate())
    expect(choosePort(record, [deployed(runningService('other'))], 'preview')).toBe(49_153)
    const elsewhere = { ...record, active: record.active && { ...record.active, port: 49_152 } }
    expect(choosePort(elsewhere, [], 'preview')).toBe(8080)
    expect(choosePort(elsewhere, [runningService('other')], 'preview')).toBe(49_153)
  })

  test('is kept for the earlier active version only while that runs', () => {
    const record = switched()
    expect(choosePort(record, [], 'active')).toBe(49_152)
    expect(choosePort(ended(record, record.previous), [], 'active')).toBe(8080)
  })
})
