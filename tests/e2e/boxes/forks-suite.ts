import { describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of forks for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineForksSuite(client: Client): void {
  const boxes = '/v1/projects/forks/boxes'
  const fork = (name: string, source: string, more: Record<string, unknown> = {}) =>
    client.post(boxes, { name, fork: source, ...more })
  const output = async (box: string, line: string): Promise<string> =>
    (await client.shell('forks', box, line)).body.stdout

  describe('a fork', () => {
    test('has the current files of its source, its settings, and an identity of its own', async () => {
      const { body: source } = await client.post(boxes, {
        name: 'source',
        environment: { GREETING: 'hello' },
        tags: { team: 'search' },
        config: { cpus: 0.5, ram_mb: 64, storage_gb: 2 },
      })
      await client.call('PUT', `${boxes}/source`, { body: { port: 8080, termination_grace_period_seconds: 3 } })
      await client.shell('forks', 'source', 'echo unsynced > /root/file; cp /etc/machine-id /root/id')
      const forked = await fork('copy', 'source')
      expect(forked.status).toBe(201)
      expect(forked.body).toMatchObject({
        name: 'copy',
        status: 'running',
        base: 'busybox',
        fork_of: 'source',
        config: source.config,
        environment: { GREETING: 'hello' },
        port: 8080,
        termination_grace_period_seconds: 3,
        tags: {},
        data_mounts: [],
        url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
        lease_until: null,
      })
      expect(forked.body.id).not.toBe(source.id)
      expect(await output('copy', 'cat /root/file; hostname; echo $GREETING $BOX_NAME')).toBe(
        'unsynced\ncopy\nhello copy\n',
      )
      const [own, inherited] = (await output('copy', 'cat /etc/machine-id /root/id')).trim().split('\n')
      expect(own).toMatch(/^[0-9a-f]{32}$/)
      expect(own).not.toBe(inherited)
    })

    test('has keys of its own for an SSH server, also made of a stopped box and of a snapshot, and keeps them', async () => {
      const keygen = 'for last; do :; done; echo "made in $(hostname)" >"$last"; echo public >"$last.pub"'
      await client.shell(
        'forks',
        'source',
        `mkdir -p /etc/ssh /usr/local/bin; echo 'of the source' >/etc/ssh/ssh_host_ed25519_key
        printf '#!/bin/sh\\n%s\\n' '${keygen.replaceAll("'", "'\\''")}' >/usr/local/bin/ssh-keygen; chmod +x /usr/local/bin/ssh-keygen`,
      )
      await client.post(`${boxes}/source/snapshots`, { name: 'keyed' })
      for (const [name, from] of [
        ['keys-a', 'source'],
        ['keys-b', 'source@keyed'],
        ['keys-c', 'keys-a'],
      ] as const) {
        expect((await fork(name, from)).status).toBe(201)
        expect(await output(name, 'cat /etc/ssh/ssh_host_ed25519_key')).toBe(`made in ${name}\n`)
      }
      expect(await output('source', 'cat /etc/ssh/ssh_host_ed25519_key')).toBe('of the source\n')
      await client.shell('forks', 'keys-a', 'echo mine >/etc/ssh/ssh_host_ed25519_key')
      for (const act of ['stop', 'start']) await client.post(`${boxes}/keys-a/${act === 'start' ? 'resume' : act}`)
      expect(await output('keys-a', 'cat /etc/ssh/ssh_host_ed25519_key')).toBe('mine\n')
      for (const name of ['keys-a', 'keys-b', 'keys-c']) await client.delete(`${boxes}/${name}`)
    })

    test('shares nothing that is written later, in either direction', async () => {
      await client.shell('forks', 'source', 'echo mine > /root/file')
      await client.shell('forks', 'copy', 'echo other > /root/new')
      expect(await output('copy', 'cat /root/file')).toBe('unsynced\n')
      expect(await output('source', 'cat /root/file; ls /root')).toBe('mine\nfile\nid\n')
    })

    test('takes given fields in place of those of its source', async () => {
      const forked = await fork('other', 'source', { config: { ram_mb: 32 }, environment: {}, tags: { a: 'b' } })
      expect(forked.body).toMatchObject({
        config: { cpus: 0.5, ram_mb: 32, storage_gb: 2 },
        environment: {},
        tags: { a: 'b' },
      })
      await client.delete(`${boxes}/other`)
    })

    test('can be made of a stopped box and of a fork, and outlives both', async () => {
      await client.post(`${boxes}/copy/stop`)
      expect((await fork('third', 'copy')).body.status).toBe('running')
      await client.delete(`${boxes}/source`)
      await client.delete(`${boxes}/copy`)
      expect(await output('third', 'cat /root/file /root/new')).toBe('unsynced\nother\n')
      await client.post(`${boxes}/third/stop`)
      await client.post(`${boxes}/third/resume`)
      expect(await output('third', 'cat /root/new')).toBe('other\n')
    })

    test('holds the disk as of the request, even if the source is deleted before the fork is done', async () => {
      await client.shell('forks', 'third', 'echo last > /root/last')
      const forked = await client.post(`${boxes}?wait_seconds=0`, { name: 'heir', fork: 'third' })
      expect((await client.delete(`${boxes}/third`)).status).toBe(204)
      expect(forked.status).toBe(201)
      await client.get(`${String(forked.headers['operation-location'])}?wait_seconds=20`)
      expect(await output('heir', 'cat /root/last')).toBe('last\n')
    })

    test('thirty concurrent forks of one running box all have its files', async () => {
      const names = Array.from({ length: 30 }, (_, i) => `many-${i}`)
      const answers = await Promise.all(names.map((name) => fork(name, 'heir', { config: { ram_mb: 32 } })))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
      // On a cluster with few cores some boxes may still be starting.
      const settle = async (name: string): Promise<string> => {
        const { body } = await client.post(`${boxes}/${name}/resume?wait_seconds=25`)
        return body.status === 'pending' ? settle(name) : body.status
      }
      expect(new Set(await Promise.all(names.map(settle)))).toEqual(new Set(['running']))
      const last = await Promise.all(names.map((name) => output(name, 'cat /root/last; hostname')))
      expect(last).toEqual(names.map((name) => `last\n${name}\n`))
      await Promise.all(names.map((name) => client.delete(`${boxes}/${name}`)))
    })
  })

  describe('an invalid fork', () => {
    const refused = async (body: Record<string, unknown>): Promise<[number, string]> => {
      const answer = await client.post(boxes, { name: 'refused', ...body })
      return [answer.status, answer.body.code]
    }

    test('of a missing box or one of another project is not found', async () => {
      await client.post('/v1/projects/foreign/boxes', { name: 'elsewhere' })
      expect(await refused({ fork: 'missing' })).toEqual([404, 'box_not_found'])
      expect(await refused({ fork: 'elsewhere' })).toEqual([404, 'box_not_found'])
      await client.delete('/v1/projects/foreign/boxes/elsewhere')
    })

    test('with a base, of a missing snapshot, or of an empty name is refused', async () => {
      expect(await refused({ fork: 'heir', base: 'busybox' })).toEqual([400, 'base_and_fork'])
      expect(await refused({ fork: 'heir@v0' })).toEqual([404, 'snapshot_not_found'])
      for (const fork of ['', 'A', 'heir@', '@v0', 'a/b', '../heir'])
        expect(await refused({ fork })).toEqual([400, 'invalid_request'])
    })

    test('leaves no box behind, and no name taken', async () => {
      expect((await client.get(`${boxes}/refused`)).status).toBe(404)
      const { body } = await client.get(boxes)
      expect(body.boxes.map(({ name }: { name: string }) => name)).toEqual(['heir'])
      await client.delete(`${boxes}/heir`)
    })
  })
}
