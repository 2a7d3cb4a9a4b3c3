import { describe, expect, test } from '@jest/globals'
import { amountText, boxCounts, fullestOf, selectProjects } from '../../../web/src/pages/projects/project-rows.ts'

type Listed = Parameters<typeof fullestOf>[0]

const NONE = { boxes: null, cpus: null, ram_mb: null, storage_gb: null }
const free = project('free', { boxes: 9, cpus: 1, ram_mb: 512, storage_gb: 10 }, NONE)
const half = project('half', { boxes: 1, cpus: 2, ram_mb: 512, storage_gb: 10 }, { ...NONE, cpus: 4, storage_gb: 100 })
const over = project('over', { boxes: 1, cpus: 0, ram_mb: 0, storage_gb: 10 }, { ...NONE, boxes: 0 })

describe('projects', () => {
  test('are as full as their fullest quota', () => {
    expect([free, half, over].map(fullestOf)).toEqual([null, 0.5, 2])
  })

  test('are found by name and sorted by what they use', () => {
    const named = (text: string, sort: string) =>
      selectProjects([free, half, over], text, sort).map((each) => each.project)
    expect(named('', '')).toEqual(['free', 'half', 'over'])
    expect(named('', '-name')).toEqual(['over', 'half', 'free'])
    expect(named('', '-cpus')).toEqual(['half', 'free', 'over'])
    expect(named('al f', '')).toEqual(['half'])
  })

  test('have boxes together', () => {
    const of = (running: number, stopped: number, other: number): Listed => ({
      ...free,
      boxes: { running, stopped, other },
    })
    expect(boxCounts([of(1, 2, 0), of(3, 0, 4)])).toEqual({ running: 4, stopped: 2, other: 4 })
    expect(boxCounts([])).toEqual({ running: 0, stopped: 0, other: 0 })
  })

  test('tell amounts with their bounds', () => {
    expect(amountText(2048, null, 'MiB')).toBe('2,048 MiB')
    expect(amountText(0.5, 8, '')).toBe('0.5 of 8')
  })
})

function project(
  name: string,
  used: { boxes: number; cpus: number; ram_mb: number; storage_gb: number },
  allowed: Listed['allowed'],
): Listed {
  return {
    project: name,
    used: { ...used, stored_bytes: 0 },
    allowed,
    updated_at: null,
    boxes: { running: 1, stopped: 0, other: 0 },
    volumes: 0,
  }
}
