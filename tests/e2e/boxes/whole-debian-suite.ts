import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import type { TestService } from '../../helpers/service.ts'

/** Defines the tests of Debian programs in a box of 1 CPU and 512 MB, for a service with the Debian base. */
export function testWholeDebian(started: () => TestService): void {
  describe('a Debian box of 1 processor and 512 MB', () => {
    const client = createClient(
      () => started().url,
      () => started().adminToken,
    )
    const run = async (line: string, more: object = {}): Promise<string> => {
      const { body } = await client.shell('whole', 'debian', line, { ...more })
      expect(body).toMatchObject({ exit_code: 0 })
      return body.stdout
    }

    beforeAll(async () => {
      // A second CPU speeds up the installation.
      const made = await client.post(BOXES, { name: 'debian', config: { cpus: 2, ram_mb: 1024 } })
      expect(made.status).toBe(201)
      await run(`apt-get -q update && ${INSTALL} ${PACKAGES.join(' ')}`)
      const resized = await client.put(`${BOXES}/debian`, { config: { cpus: 1, ram_mb: 512 } })
      expect(resized.status).toBe(200)
    }, INSTALL_MS)

    test('shows them to free, top, nproc and getconf', async () => {
      expect(await run(`free -m | awk '/^Mem:/ {print $2}'; nproc; getconf _NPROCESSORS_ONLN`)).toBe('512\n1\n1\n')
      expect(await run('top -b -n 1 | grep "MiB Mem"')).toMatch(/ 512\.0 total/)
      expect(await run('uptime')).toMatch(/up [0-4] min/)
    })

    test('gives a JVM a heap and processors to fit', async () => {
      const flags = await run('java -XX:+PrintFlagsFinal -version 2>/dev/null')
      expect(flags).toMatch(/MaxHeapSize += 134217728 /)
      expect(flags).toMatch(/UseSerialGC += true /)
      const system = (await client.shell('whole', 'debian', 'java -XshowSettings:system -version')).body.stderr
      expect(system).toMatch(/Effective CPU Count: 1\n/)
      expect(system).toMatch(/Memory Limit: 512\.00M\n/)
    })

    test('gives Node.js a heap and processors to fit', async () => {
      const script = `
        const os = require('os')
        const heap = require('v8').getHeapStatistics().heap_size_limit
        console.log(os.cpus().length, os.availableParallelism(), os.totalmem() >> 20, process.constrainedMemory() / 2 ** 20, heap >> 20)`
      const [cpus, parallel, total, constrained, heap] = (await run(`node -e '${script.replaceAll("'", '"')}'`)).split(
        ' ',
      )
      expect([cpus, parallel, total, constrained]).toEqual(['1', '1', '512', '512'])
      expect(Number(heap)).toBeLessThan(400)
    })

    test('gives a program of Go as many threads', async () => {
      const program = join(started().dataDir, 'go-threads')
      writeFileSync(`${program}.go`, GO_PROGRAM)
      execFileSync('go', ['build', '-o', program, `${program}.go`], { env: { ...process.env, CGO_ENABLED: '0' } })
      const written = await client.put(`${BOXES}/debian/files/write?path=/root/threads&mode=0755`, undefined, {
        raw: readFileSync(program),
        headers: { 'content-type': 'application/octet-stream' },
      })
      expect(written.status).toBe(200)
      expect(await run('/root/threads')).toBe('1 1\n')
    })

    test('runs PostgreSQL', async () => {
      await run('pg_ctlcluster $(pg_lsclusters -h | cut -d " " -f 1) main start')
      const query = 'select sum(n) from generate_series(1, 200000) n; show shared_buffers'
      expect(await run(`psql -Atc "${query}"`, { user: 'postgres', cwd: '/' })).toBe('20000100000\n128MB\n')
    })

    test('lets sudo make root of the box, which is nobody outside', async () => {
      await run('useradd -m ann; echo "ann ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ann')
      const sudo = async (line: string): Promise<string> => run(`sudo -n ${line}`, { user: 'ann' })
      expect(await sudo('id -un')).toBe('root\n')
      expect(await sudo('cat /proc/self/uid_map')).toMatch(/^ +0 +[1-9]\d+ +65536\n$/)
      expect(await sudo('grep Cap /proc/self/status')).toBe(await run('grep Cap /proc/self/status'))
      const refused = [
        'mount -t tmpfs none /mnt',
        'dmesg',
        'umount /proc/meminfo',
        'unshare -n true',
        'losetup /dev/loop0 /etc/hosts',
        'hostname x',
      ]
      for (const line of refused)
        expect([line, await run(`sudo -n ${line} >/dev/null 2>&1; echo $?`, { user: 'ann' })]).not.toEqual([
          line,
          '0\n',
        ])
      await run('deluser -q ann sudo 2>/dev/null; rm /etc/sudoers.d/ann')
      expect(await run('sudo -n id >/dev/null 2>&1; echo $?', { user: 'ann' })).toBe('1\n')
    })

    test('starts PostgreSQL again after a stop, without root', async () => {
      expect((await client.post(`${BOXES}/debian/stop`)).status).toBe(200)
      expect((await client.post(`${BOXES}/debian/resume`)).status).toBe(200)
      const start = 'pg_ctlcluster $(pg_lsclusters -h | cut -d " " -f 1) main start && psql -Atc "select 1"'
      expect(await run(start, { user: 'postgres', cwd: '/' })).toMatch(/(^|\n)1\n$/)
    })
  })
}

const BOXES = '/v1/projects/whole/boxes'
const PACKAGES = ['nodejs', 'openjdk-21-jre-headless', 'postgresql', 'sudo']
/** Starts a command that installs packages. */
export const INSTALL =
  'DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Options::=--force-unsafe-io install -y --no-install-recommends'
/** Time limit of an installation. */
export const INSTALL_MS = 600_000
const GO_PROGRAM = `package main

import (
	"fmt"
	"runtime"
)

func main() { fmt.Println(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }
`
