import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { CELLS, type CellName, type FakeCells, startFakeCells } from '../../helpers/fleet/fake-cells.ts'
import { jsonOf } from '../../helpers/front/test-front.ts'

let cells: FakeCells
beforeEach(async () => {
  cells = await startFakeCells()
})
afterEach(() => cells.close())

function script(answers: Record<CellName, HttpResponse>): void {
  for (const cell of CELLS) cells.agents[cell].respond = () => answers[cell]
}

describe('projects', () => {
  const project = (name: string, boxes: number, updated: string | null = null): object => ({
    project: name,
    allowed: { boxes: updated === null ? null : 9, cpus: null, ram_mb: null, storage_gb: null },
    used: { boxes, cpus: boxes / 10, ram_mb: 64 * boxes, storage_gb: boxes, stored_bytes: 10 * boxes },
    updated_at: updated,
    boxes: { running: boxes, stopped: 0, other: 0 },
    volumes: 1,
  })
  const page = (projects: object[]): HttpResponse =>
    jsonResponse(200, { projects, has_more: false, next_continuation_token: null })

  test('are those of all cells by name, each once with what it has at all', async () => {
    const set = '2026-01-01T00:00:00.000Z'
    script({
      aa: page([project('a', 1), project('c', 1)]),
      bb: page([project('b', 1), project('c', 2, set)]),
      cc: page([]),
    })
    const { projects, ...end } = jsonOf(await cells.ask('/v1/projects'))
    const c = {
      ...project('c', 3, set),
      used: { boxes: 3, cpus: 0.3, ram_mb: 192, storage_gb: 3, stored_bytes: 30 },
      volumes: 2,
    }
    expect(projects).toEqual([project('a', 1), project('b', 1), c])
    expect(end).toEqual({ has_more: false, next_continuation_token: null })
    const [first, second] = [
      await cells.ask('/v1/projects?max_results=2'),
      await cells.ask('/v1/projects?max_results=3'),
    ]
    expect([jsonOf(first)['has_more'], jsonOf(second)['has_more']]).toEqual([true, false])
  })

  test('are not told while a cell is away', async () => {
    script({ aa: page([project('a', 1)]), bb: page([]), cc: page([]) })
    await cells.agents.cc.close()
    expect(jsonOf(await cells.ask('/v1/projects'))).toMatchObject({ status: 503, code: 'agent_unavailable' })
  })
})
