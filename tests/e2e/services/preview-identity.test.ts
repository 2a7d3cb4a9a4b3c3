import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { client } = useSharedService()
const boxes = '/v1/projects/preview/boxes'
const app = `${boxes}/host/services/app`
const act = (verb: string, body?: object) => client.post(`${app}/${verb}`, body)
const shell = async (line: string): Promise<string> => (await client.shell('preview', 'host', line)).body.stdout
const script = (text: string): string[] => ['/bin/sh', '-c', text]
const logOf = async (version: string): Promise<string> =>
  (await client.get(`${app}/logs?version=${version}&offset=0`)).body.data

beforeAll(async () => {
  await client.post(boxes, { name: 'host', config: { ram_mb: 128 } })
  await client.put(app, {
    command: script('mkdir -p /srv; exec httpd -f -p $PORT -h /srv'),
    port: 8080,
    grace_seconds: 1,
  })
})

afterAll(async () => {
  await client.delete(`${boxes}/host`)
})

test('the copy of a box in which a preview runs has an identity of its own, as any fork, and keeps it over a restart', async () => {
  const keygen = 'for last; do :; done; echo "made in $(hostname)" >"$last"; echo public >"$last.pub"'
  await shell(
    `mkdir -p /etc/ssh /usr/local/bin /var/lib/dbus; echo 'of the box' >/etc/ssh/ssh_host_ed25519_key; cp /etc/machine-id /var/lib/dbus/machine-id
    printf '#!/bin/sh\n%s\n' '${keygen}' >/usr/local/bin/ssh-keygen; chmod +x /usr/local/bin/ssh-keygen`,
  )
  const tell = 'cat /etc/ssh/ssh_host_ed25519_key /etc/hostname /etc/machine-id /var/lib/dbus/machine-id'
  const told = `echo mine >>/etc/ssh/ssh_host_ed25519_key; exec httpd -f -p $PORT -h /srv`
  await act('deploy', { isolation: 'fork', command: script(`${tell}; ${told}`) })
  const ofPreview = /^made in (box-\w+)\n\1\n([0-9a-f]{32})\n\2\n$/
  await eventually(async () => ofPreview.test(await logOf('preview')))
  const [, , id] = ofPreview.exec(await logOf('preview')) ?? []
  expect(await shell(tell)).toMatch(/^of the box\nhost\n([0-9a-f]{32})\n\1\n$/)
  expect(await shell('cat /etc/machine-id')).not.toBe(`${id}\n`)
  for (const step of ['stop', 'resume']) await client.post(`${boxes}/host/${step}`)
  await eventually(async () => /\nmade in box-\w+\nmine\n/.test(await logOf('preview')))
})
