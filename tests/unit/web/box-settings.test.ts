import { describe, expect, test } from '@jest/globals'
import type { Box } from '../../../web/src/api/records.ts'
import { changesOfForm, valuesBefore } from '../../../web/src/pages/box/box-settings.ts'

const CONFIG = { cpus: 1, ram_mb: 256, storage_gb: 1, network_mbps: null, disk_mbps: null, disk_iops: null }
const KEY = '-----BEGIN KEY-----\nabc\n'

/** A box as the API returns it, with only the fields that settings need. */
function boxWith(changes: Record<string, unknown> = {}): Box {
  return {
    config: CONFIG,
    environment: { A: '1', KEY },
    tags: { team: 'a' },
    url_settings: { wake: false, idle_stop_seconds: 600, auth: 'private' },
    ...changes,
  } as unknown as Box
}

/** The form for `boxWith()`, with other texts in some fields. */
function formWith(changes: Record<string, string> = {}, wake = false): Parameters<typeof changesOfForm>[0] {
  const shown = { cpus: '1', ram_mb: '256', storage_gb: '1', env: 'A=1', tags: 'team=a', idle_minutes: '10' }
  const fields = { network_mbps: '', disk_mbps: '', disk_iops: '', ...shown, ...changes }
  const all = new FormData()
  for (const [name, value] of Object.entries(fields)) all.append(name, value)
  const texts = new Map(Object.entries(fields))
  return { all, has: () => wake, text: (name: string) => texts.get(name) ?? '' }
}

describe('the settings of a box', () => {
  const opened = boxWith()

  test('that stay as they were are not sent', () => {
    expect(changesOfForm(formWith(), { opened, now: opened })).toEqual({})
  })

  test.each([
    ['a size', { ram_mb: '512' }, false, { config: { ram_mb: 512 } }],
    ['a limit', { disk_iops: '100' }, false, { config: { disk_iops: 100 } }],
    ['a variable', { env: 'A=2' }, false, { environment: { A: '2', KEY } }],
    ['all variables of one line', { env: '' }, false, { environment: { KEY } }],
    ['a tag', { tags: 'team=b' }, false, { tags: { team: 'b' } }],
    ['the last tag', { tags: '' }, false, { tags: {} }],
    ['sleep', { idle_minutes: '' }, false, { url_settings: { idle_stop_seconds: null } }],
    ['wake', {}, true, { url_settings: { wake: true } }],
  ])('are sent alone: %s', (_what, texts, wake, changes) => {
    const sent = changesOfForm(formWith(texts, wake), { opened, now: opened })
    expect(sent).toEqual(changes)
  })

  test('keep the changes of other users', () => {
    const now = boxWith({
      config: { ...CONFIG, cpus: 2 },
      environment: { A: '1', B: 'theirs' },
      tags: { team: 'a', theirs: 'yes' },
    })
    const form = formWith({ ram_mb: '512', env: 'A=2', tags: 'own=yes' })
    const sent = changesOfForm(form, { opened, now })
    expect(sent).toEqual({
      config: { ram_mb: 512 },
      environment: { A: '2', B: 'theirs' },
      tags: { theirs: 'yes', own: 'yes' },
    })
    expect(valuesBefore(sent, now)).toEqual({
      config: { ram_mb: 256 },
      environment: now.environment,
      tags: now.tags,
    })
  })

  test('name the field of a variable that cannot be read', () => {
    expect(() => changesOfForm(formWith({ env: 'no sign' }), { opened, now: opened })).toThrow(
      expect.objectContaining({ field: 'env' }),
    )
  })
})
