import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { connectTerminal, type TestTerminal } from '../../helpers/exec/terminal.ts'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of the consoles of a box, at the front at `url`. */
export function defineConsolesSuite(client: Client, front: { url(): string; token(): string }): void {
  const box = '/v1/projects/consoles/boxes/it'
  const open = (query = '', size?: { cols: number; rows: number }): Promise<TestTerminal> => {
    const sized = size === undefined ? query : `${query}&cols=${size.cols}&rows=${size.rows}`
    return connectTerminal(`${front.url()}${box}/console?${sized}`, { token: front.token(), ...size })
  }
  const sessions = async (): Promise<{ name: string; viewers: number; id: string; cols: number }[]> =>
    (await client.get(`${box}/sessions`)).body.sessions

  describe('consoles', () => {
    beforeAll(async () => {
      await client.post('/v1/projects/consoles/boxes', { name: 'it', environment: { FROM_BOX: 'yes' } })
    })
    afterAll(async () => {
      await client.delete(box)
    })

    test('a shell in a terminal goes on when its client leaves, and replays its output to the next', async () => {
      const first = await open('session=stays')
      first.type('echo here-$((40+2)) $FROM_BOX; cd /tmp; tty\n')
      await first.until(/here-42 yes\n\/dev\/pts\/\d+/)
      expect((await sessions()).map(({ name, viewers }) => [name, viewers])).toEqual([['stays', 1]])
      first.leave()
      const second = await open('session=stays')
      expect(second.id).toBe(first.id)
      await second.until(/here-42 yes/)
      second.type('pwd\n')
      await second.until(/^\/tmp$/m)
      second.type('exit 7\n')
      expect(await second.ended).toMatchObject({
        code: 1000,
        status: { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ message: '7' }] } },
      })
      expect(await sessions()).toEqual([])
    })

    test('many see the same screen, and may type by their mode', async () => {
      const [one, two, watcher] = [
        await open('session=m'),
        await open('session=m'),
        await open('session=m&typing=none'),
      ]
      one.type('echo from-one\n')
      for (const each of [one, two, watcher]) await each.until(/^from-one$/m)
      two.type('echo from-two\n')
      for (const each of [one, two, watcher]) await each.until(/^from-two$/m)
      watcher.type('echo from-watcher\n')
      const alone = await open('session=m&typing=one')
      one.type('echo shut-out\n')
      alone.type('echo alone\n')
      for (const each of [one, two, watcher, alone]) await each.until(/^alone$/m)
      expect(alone.screen().join('\n')).not.toMatch(/shut-out|from-watcher/)
      alone.leave()
      await expectViewers('m', 3)
      one.type('echo again\n')
      await two.until(/^again$/m)
      for (const each of [one, two, watcher]) each.leave()
      expect((await client.delete(`${box}/sessions/m`)).status).toBe(204)
      expect((await client.delete(`${box}/sessions/m`)).body.code).toBe('session_not_found')
    })

    test('its size is the one set last', async () => {
      const terminal = await open('session=size', { cols: 100, rows: 30 })
      terminal.type('stty size\n')
      await terminal.until(/^30 100$/m)
      terminal.resize({ cols: 60, rows: 20 })
      terminal.type('stty size\n')
      await terminal.until(/^20 60$/m)
      expect((await sessions()).find(({ name }) => name === 'size')?.cols).toBe(60)
      await client.delete(`${box}/sessions/size`)
      expect((await terminal.ended).code).toBe(1000)
    })

    test('an editor and a process viewer are usable', async () => {
      const archive = execFileSync('tar', ['-C', '/', '-chf', '-', ...programFiles()], { maxBuffer: 64 * 1024 ** 2 })
      const put = await client.call('PUT', `${box}/files/archive?path=/`, {
        raw: archive,
        headers: { 'content-type': 'application/x-tar' },
      })
      expect(put.body).toMatchObject({ refused_count: 0 })
      const terminal = await open('session=editor', { cols: 80, rows: 24 })
      terminal.type('vim.tiny -u NONE /root/edited\n')
      await terminal.until(/"~\/edited" \[New File\]/)
      terminal.type('ihello from the editor\u001b')
      await terminal.until(/^hello from the editor$/m)
      terminal.type('yyp:s/hello/again/\n:w\n')
      await terminal.until(/written/)
      terminal.type(':q\n')
      // Waits for the prompt, because an exiting vim drops input typed ahead.
      await terminal.until(/vim\.tiny[^\n]*\n~ #\s*$/)
      const read = await client.get(`${box}/files/read?path=/root/edited`)
      expect(read.text).toBe('hello from the editor\nagain from the editor\n')
      terminal.type('clear; htop\n')
      await terminal.until(/PID\s+USER[\s\S]*F10\s*Quit/)
      terminal.resize({ cols: 120, rows: 40 })
      await terminal.until(/(?:.*\n){38}.*F10\s*Quit/)
      terminal.type('q')
      terminal.type('echo left-$?\n')
      await terminal.until(/left-0/)
      await client.delete(`${box}/sessions/editor`)
    })

    test('an invalid request is refused before the upgrade', async () => {
      const code = async (query: string): Promise<string> =>
        open(query).then(
          () => 'opened',
          (error: unknown) => String(error),
        )
      expect(await code('session=UPPER')).toContain('400')
      expect(await code('typing=some')).toContain('400')
      expect(await code('user=nobody-here&session=u')).toContain('400')
      expect((await client.get(`${box}/console`)).status).toBe(426)
      expect((await client.get(`${box}/sessions`, { token: null })).status).toBe(401)
    })

    async function expectViewers(name: string, count: number): Promise<void> {
      const deadline = performance.now() + 10_000
      const viewers = async (): Promise<number | undefined> =>
        (await sessions()).find((each) => each.name === name)?.viewers
      while ((await viewers()) !== count && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 50))
      expect(await viewers()).toBe(count)
    }
  })
}

/** Lists an editor and a process viewer of this machine, with their libraries and terminal descriptions. */
function programFiles(): string[] {
  const programs = ['/usr/bin/vim.tiny', '/usr/bin/htop']
  const libraries = execFileSync('ldd', programs, { encoding: 'utf8' }).matchAll(/(\/lib\S+) \(/g)
  const files = new Set([...programs, ...Array.from(libraries, ([, path = '']) => path)])
  return [...files, '/lib/terminfo/x/xterm-256color'].map((path) => path.slice(1))
}
