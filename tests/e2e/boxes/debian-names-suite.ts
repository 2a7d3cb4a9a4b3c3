import { beforeAll, describe, expect, test } from '@jest/globals'
import { NAME_SERVER } from '../../../agent/drivers/network/slots.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import type { TestService } from '../../helpers/service.ts'
import { INSTALL, INSTALL_MS } from './whole-debian-suite.ts'

/** Defines the tests of Debian programs that resolve box names by DNS, for a service with the Debian base. */
export function testNamesOnDebian(started: () => TestService): void {
  describe('the names of boxes', () => {
    const client = createClient(
      () => started().url,
      () => started().adminToken,
    )
    const run = async (box: string, line: string): Promise<string> => {
      const { body } = await client.shell('named', box, line)
      expect({ line, ...body }).toMatchObject({ line, exit_code: 0 })
      return body.stdout
    }
    const dig = (line: string): Promise<string> => run('proxy', `dig +noall +comments +answer ${line}`)
    /** Returns the status and the records of a response, without the question that `dig` repeats. */
    const answer = async (line: string): Promise<string[]> => {
      const lines = (await dig(line)).split('\n')
      const status = /status: (\w+)/.exec(lines.join())?.[1] ?? 'no response'
      return [status, ...lines.filter((one) => /^[^;\s]/.test(one)).map((one) => one.replace(/\s+/g, ' '))]
    }
    const addressOf = async (project: string, box: string): Promise<string> =>
      (await client.shell(project, box, `sed -n 's/ ${box} #.*//p' /etc/hosts`)).body.stdout.trim()
    const serveApp = async (): Promise<void> => {
      expect((await client.post(BOXES, { name: 'app', fork: 'proxy' })).status).toBe(201)
      await run('app', `echo '${APP}' >/root/app.conf && nginx -c /root/app.conf`)
    }
    const throughProxy = async (): Promise<string> => {
      const { body } = await client.shell('named', 'proxy', 'curl -s -w " %{http_code}" http://127.0.0.1:8000/')
      return body.stdout
    }

    beforeAll(async () => {
      expect((await client.post(BOXES, { name: 'proxy' })).status).toBe(201)
      expect((await client.post('/v1/projects/foreign/boxes', { name: 'stranger' })).status).toBe(201)
      await run('proxy', `apt-get -q update && ${INSTALL} bind9-dnsutils nginx-light`)
      await serveApp()
    }, INSTALL_MS)

    test('are answered to dig, over UDP and TCP, with EDNS and without', async () => {
      const app = await addressOf('named', 'app')
      for (const how of ['', '+tcp', '+noedns', '+nocookie +bufsize=512', '+dnssec'])
        expect([how, ...(await answer(`${how} app`))]).toEqual([how, 'NOERROR', `app. 0 IN A ${app}`])
      expect(await answer('APP')).toEqual(['NOERROR', `APP. 0 IN A ${app}`])
      expect(await answer('ANY app')).toEqual(['NOERROR', `app. 0 IN A ${app}`])
      for (const type of ['AAAA', 'HTTPS', 'MX', 'TXT'])
        expect([type, ...(await answer(`${type} app`))]).toEqual([type, 'NOERROR'])
      expect((await answer(`-x ${app}`)).join(' ')).toMatch(/^NOERROR \S+\.in-addr\.arpa\. 0 IN PTR app\.$/)
      expect(await run('proxy', 'nslookup app')).toContain(`Address: ${app}\n`)
    })

    test('of other projects, and names of no box, do not exist for dig', async () => {
      const foreign = await addressOf('foreign', 'stranger')
      expect(foreign).toMatch(/^10\./)
      const questions = ['absent', 'stranger', `-x ${foreign}`, 'AAAA stranger', 'ANY stranger', '+tcp stranger']
      for (const each of questions) expect([each, ...(await answer(each))]).toEqual([each, 'NXDOMAIN'])
    })

    test('lead the resolver of nginx to a box, also once another has its name', async () => {
      await run('proxy', `echo '${PROXY}' >/root/proxy.conf && nginx -c /root/proxy.conf`)
      expect(await throughProxy()).toBe('app 200')
      expect((await client.delete(`${BOXES}/app`)).status).toBe(204)
      await eventually(async () => (await throughProxy()).endsWith(' 502'))
      await serveApp()
      await eventually(async () => (await throughProxy()) === 'app 200')
    })
  })
}

const BOXES = '/v1/projects/named/boxes'
const APP = 'events {} http { server { listen 3000; return 200 $hostname; } }'
const PROXY = `events {}
http {
  resolver ${NAME_SERVER};
  server {
    listen 8000;
    location / {
      set $backend http://app:3000;
      proxy_pass $backend;
    }
  }
}`
