import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of differences between snapshots for any front, with `client` as for the other suites. */
export function defineSnapshotDiffSuite(client: Client): void {
  const boxes = '/v1/projects/diffs/boxes'
  const shell = async (line: string): Promise<void> => {
    expect((await client.shell('diffs', 'changing', line)).body).toMatchObject({ exit_code: 0 })
  }
  const diff = (snapshot: string, query = '') => client.get(`${boxes}/changing/snapshots/${snapshot}/diff${query}`)
  const inWords = ({ kind, path, from, modified, type, size_bytes: size }: ChangeView): string => {
    const move = from === null ? '' : `${from} -> `
    return `${kind} ${move}${path} ${type === 'file' ? size : type}${modified ? ' modified' : ''}`
  }

  describe('what changed on the disk of a box', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'changing', config: { ram_mb: 64 } })
      await shell('mkdir -p /srv/d; cd /srv; echo one > d/a; echo two > d/b; echo three > c')
      await client.post(`${boxes}/changing/snapshots`, { name: 'first' })
      await shell("cd /srv; mv d e; echo more >> e/a; rm c; printf x > $(printf '\\377')")
      await client.post(`${boxes}/changing/snapshots`, { name: 'second' })
      await shell('cd /srv; mv e/b b; echo more >> b')
    })

    afterAll(async () => {
      await client.delete(`${boxes}/changing`)
    })

    test('is listed by path between two snapshots, with names that are not UTF-8', async () => {
      const { status, body } = await diff('first', '?to=second')
      expect(status).toBe(200)
      expect(body).toMatchObject({ has_more: false, next_continuation_token: null })
      expect(body.changes.map(inWords)).toEqual([
        'deleted /srv/c 6',
        'renamed /srv/d -> /srv/e directory',
        'modified /srv/e/a 9',
        'added /srv/\ufffd 1',
      ])
      expect(body.changes.at(-1)).toMatchObject({ path_base64: Buffer.from('/srv/\xff', 'latin1').toString('base64') })
      expect((await diff('second', '?to=first')).body.changes.map(inWords)).toEqual([
        'added /srv/c 6',
        'renamed /srv/e -> /srv/d directory',
        'modified /srv/d/a 4',
        'deleted /srv/\ufffd 1',
      ])
      expect((await diff('first', '?to=first')).body.changes).toEqual([])
    })

    test('is listed page by page up to the current state of a running box', async () => {
      const now = ['renamed /srv/e/b -> /srv/b 9 modified']
      expect((await diff('second')).body.changes.map(inWords)).toEqual(now)
      expect((await diff('second', '?to=live')).body.changes.map(inWords)).toEqual(now)
      const all: string[] = []
      for (let token = ''; ; ) {
        const { body } = await diff('first', `?max_results=2${token}`)
        all.push(...body.changes.map(inWords))
        if (!body.has_more) break
        expect(body.changes).toHaveLength(2)
        token = `&continuation_token=${body.next_continuation_token}`
      }
      expect(all).toEqual([
        'renamed /srv/d/b -> /srv/b 9 modified',
        'deleted /srv/c 6',
        'renamed /srv/d -> /srv/e directory',
        'modified /srv/e/a 9',
        'added /srv/\ufffd 1',
      ])
    })

    test('missing snapshots and tokens of other lists are refused', async () => {
      expect(await diff('absent')).toMatchObject({ status: 404, body: { code: 'snapshot_not_found' } })
      expect(await diff('first', '?to=absent')).toMatchObject({ status: 404, body: { code: 'snapshot_not_found' } })
      const other = `${boxes}/absent/snapshots/first/diff`
      expect(await client.get(other)).toMatchObject({ status: 404, body: { code: 'box_not_found' } })
      const token = Buffer.from(JSON.stringify(['x', 'y'])).toString('base64url')
      expect(await diff('first', `?continuation_token=${token}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', errors: [{ pointer: '/query/continuation_token' }] },
      })
    })
  })
}

interface ChangeView {
  kind: string
  path: string
  from: string | null
  modified: boolean
  type: string
  size_bytes: number
}
