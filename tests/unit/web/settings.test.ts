import { describe, expect, test } from '@jest/globals'
import { EXAMPLES } from '../../../shared/examples/examples.ts'
import { buildOpenApiDocument } from '../../../shared/openapi/document.ts'
import { contractTexts } from '../../../web/src/pages/settings/contract-texts.ts'
import { limitText, selectSettings, settingGroups } from '../../../web/src/pages/settings/setting-rows.ts'

const config = EXAMPLES.getConfig.response as Parameters<typeof settingGroups>[0]
const texts = contractTexts(buildOpenApiDocument(), 'Config')
const groups = settingGroups(config, texts)

describe('the settings in force', () => {
  test('are in the words of the contract, at any depth and by reference', () => {
    expect(texts['limits.boxes_max']).toBe('Boxes in the deployment.')
    expect(texts['defaults.config.cpus']).toBe('Number of cores, may be fractional.')
    expect(texts['drivers.store']).not.toContain('`')
  })

  test('have every field of the answer, each with its meaning where the contract tells it', () => {
    const names = groups.flatMap(({ settings }) => settings.map(({ name }) => name))
    for (const name of ['runtime', 'features', 'base', 'config.cpus', 'quota.boxes', ...Object.keys(config.limits)]) {
      expect(names).toContain(name)
    }
    const unexplained = groups.flatMap(({ settings }) => settings.filter(({ about }) => about === ''))
    expect(unexplained.map(({ name }) => name)).toEqual(['base'])
  })

  test('are found by words of names, values and meanings', () => {
    const found = selectSettings(groups, 'sqlite records')
    expect(found.map(({ settings }) => settings.map(({ name }) => name))).toEqual([['store']])
    expect(selectSettings(groups, 'no such words')).toEqual([])
  })
})

describe('a limit', () => {
  test('is told with its unit', () => {
    expect(limitText('body_bytes', 1_048_576)).toBe('1 MiB')
    expect(limitText('unread_output_bytes_per_second', 134_217_728)).toBe('128 MiB a second')
    expect(limitText('large_body_bytes_at_once_per_box', 33_554_432)).toBe('32 MiB')
    expect(limitText('audit_keep_seconds', 7_776_000)).toBe('7,776,000 s (90 d)')
    expect(limitText('wait_seconds', 25)).toBe('25 s')
    expect(limitText('pool_reserve_percent', 10)).toBe('10 %')
    expect(limitText('boxes_max', 1000)).toBe('1,000')
  })
})
