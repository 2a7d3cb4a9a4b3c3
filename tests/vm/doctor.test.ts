import { expect, test } from '@jest/globals'
import { useInstalled } from '../helpers/vm/use-installed.ts'

interface Check {
  level: string
  code: string | null
}

const { machine, client } = useInstalled()

/** Returns the codes of all checks that failed or could not run. */
async function problems(): Promise<(string | null)[]> {
  const { checks } = JSON.parse(await machine().run('boxyard doctor --json || [ $? = 1 ]')) as { checks: Check[] }
  return checks.filter(({ level }) => level === 'problem' || level === 'unknown').map(({ code }) => code)
}

test('on a host with systemd doctor finds nothing wrong', async () => {
  // The machine reaches no nameserver.
  expect((await problems()).filter((code) => code !== 'dns_silent')).toEqual([])
})

test('support holds the journal and the units without the secrets in them', async () => {
  await machine().run(`mkdir -p /etc/systemd/system/boxyard-agent.service.d
    printf '[Service]\\nEnvironment=PROXY=hidden-in-a-unit\\n' >/etc/systemd/system/boxyard-agent.service.d/own.conf
    systemctl daemon-reload
    logger -t node "journal of $(cat /var/lib/boxyard/admin.token)"
    boxyard support /root/support.tar.gz`)
  const part = (name: string): Promise<string> =>
    machine().run(`tar -xzOf /root/support.tar.gz boxyard-support/${name}`)
  expect(await part('host/journal.txt')).toMatch(/boxyard|systemd/)
  expect(await part('host/units.txt')).toMatch(/Environment=\[redacted\]/)
  expect(
    await machine().run(
      'tar -xzOf /root/support.tar.gz | grep -ac -e hidden-in-a-unit -e "$(cat /var/lib/boxyard/admin.token)" || true',
    ),
  ).toBe('0')
})

test('uninstall stops units and boxes, and leaves the data', async () => {
  expect((await client.post('/v1/projects/demo/boxes', { name: 'web' })).status).toBe(201)
  const told = await machine().run('boxyard admin uninstall --keep-data --yes')
  expect(told).toContain('Stopped and disabled boxyard-agent.service.')
  expect(told).toContain('Kept in /var/lib/boxyard: 1 box with all data, keys and tokens.')
  expect(await machine().run('systemctl is-enabled boxyard-agent || true; ls /run/boxyard 2>/dev/null || true')).toBe(
    'disabled',
  )
})
