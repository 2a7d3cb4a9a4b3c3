import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { dropFiles } from '../../helpers/web/drop.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { isFocused, untilOnScreen } from '../../helpers/web/visitor.ts'

const { client, user, visitor } = useConsole(useSharedService())
const { button, dialog } = visitor

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

/** Makes the page reload its data, as after a lost network. */
const readAnew = (): Promise<unknown> =>
  user.page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))")

describe('an editor with a text that is not saved', () => {
  test.each([
    ['no longer text', String.raw`printf '\377\376' > /srv/note`, 'This file is not text'],
    ['now too large to show', 'head -c 1100000 /dev/zero > /srv/note', 'This file is too large to show'],
    ['now a symlink', 'rm /srv/note; ln -s /etc/hosts /srv/note', 'This is a link to'],
  ])('stays when the file is %s, and says so', async (words, change, after) => {
    await client.shell('yard', 'one', 'rm -f /srv/note; echo first > /srv/note')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fnote', 'yard/one')
    const text = user.page.getByLabel('Text of the file')
    await text.fill('mine\n')
    await client.shell('yard', 'one', change)
    await readAnew()
    await visitor.sees(`it is ${words}`)
    expect(await text.inputValue()).toBe('mine\n')
    await button('Save').click()
    await user.page.getByRole('heading', { name: 'The file has changed' }).waitFor()
    await button('Reload').click()
    await visitor.sees(after)
    expect(await text.count()).toBe(0)
  })
})

describe('a drop of files', () => {
  let dropped: string
  beforeAll(() => {
    dropped = mkdtempSync(join(tmpdir(), 'boxyard-drop-'))
    mkdirSync(join(dropped, 'tree/deep/empty'), { recursive: true })
    writeFileSync(join(dropped, 'tree/top.txt'), 'top\n')
    writeFileSync(join(dropped, 'tree/deep/low.txt'), 'low\n')
    writeFileSync(join(dropped, 'single.bin'), Buffer.alloc(3_000_000, 1))
  })
  afterAll(() => rmSync(dropped, { recursive: true }))

  test('brings directories with all that is in them, empty ones too, and tells how far it is', async () => {
    await client.shell('yard', 'one', 'mkdir -p /srv/drop')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fdrop', 'yard/one')
    await dropFiles(user.page.getByText('This directory is empty'), [
      join(dropped, 'tree'),
      join(dropped, 'single.bin'),
    ])
    await visitor.sees('4 of 4 done')
    await user.page.getByRole('progressbar', { name: 'All files' }).waitFor()
    await user.page.getByRole('link', { name: 'tree', exact: true }).waitFor()
    const { stdout } = (await client.shell('yard', 'one', 'cd /srv/drop; find . | sort; cat tree/deep/low.txt')).body
    expect(stdout.split('\n').filter(Boolean)).toEqual([
      ...['.', './single.bin', './tree', './tree/deep', './tree/deep/empty', './tree/deep/low.txt', './tree/top.txt'],
      'low',
    ])
    // A second drop replaces nothing without asking.
    await dropFiles(user.page.getByRole('link', { name: 'tree', exact: true }), [join(dropped, 'tree/top.txt')])
    await visitor.sees('5 of 5 done')
    await dropFiles(user.page.getByRole('link', { name: 'tree', exact: true }), [join(dropped, 'single.bin')])
    await visitor.sees('a file with this name exists')
    await button('Replace').click()
    await visitor.sees('6 of 6 done')
  })

  test('of a directory with hundreds of files tells how far all of them are, and brings every one', async () => {
    mkdirSync(join(dropped, 'many'))
    for (let file = 0; file < 500; file++)
      writeFileSync(join(dropped, `many/file-${file}`), file === 250 ? Buffer.alloc(40_000, 1) : `${file}\n`)
    await client.shell('yard', 'one', 'mkdir -p /srv/many')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fmany', 'yard/one')
    // Holds the largest file back until all others have arrived.
    const devtools = await user.context.newCDPSession(user.page)
    await devtools.send('Fetch.enable', { patterns: [{ urlPattern: '*%2Ffile-250&*' }] })
    const held = new Promise<string>((resolve) =>
      devtools.once('Fetch.requestPaused', ({ requestId }) => resolve(requestId)),
    )
    await dropFiles(user.page.getByText('This directory is empty'), [join(dropped, 'many')])
    const doneCount = async (): Promise<number> =>
      Number.parseInt(await user.page.getByText(/^\d+ of 500 done/).innerText())
    for (const least of [100, 200, 300, 400, 499]) await eventually(async () => (await doneCount()) >= least)
    expect(await doneCount()).toBe(499)
    const progress = user.page.getByRole('progressbar', { name: 'All files' })
    expect(Number(await progress.getAttribute('aria-valuenow'))).toBeLessThan(50)
    await user.page.getByRole('progressbar', { name: 'many/file-250' }).waitFor()
    await visitor.sees('and 400 more')
    await devtools.send('Fetch.continueRequest', { requestId: await held })
    await visitor.sees('500 of 500 done')
    await eventually(async () => (await progress.getAttribute('aria-valuenow')) === '100')
    await user.page.getByRole('link', { name: 'many', exact: true }).waitFor()
    const { stdout } = (await client.shell('yard', 'one', 'cd /srv/many/many; ls | wc -l; cat file-499')).body
    expect(stdout.trim().split(/\s+/)).toEqual(['500', '499'])
  })
})

describe('a base', () => {
  let tree: string
  beforeAll(() => {
    tree = mkdtempSync(join(tmpdir(), 'boxyard-base-'))
    mkdirSync(join(tree, 'root/bin'), { recursive: true })
    writeFileSync(join(tree, 'root/bin/sh'), 'a shell\n', { mode: 0o755 })
    writeFileSync(join(tree, 'root/data'), Buffer.alloc(2_000_000, 7))
    execFileSync('tar', ['-C', join(tree, 'root'), '-cf', join(tree, 'root.tar'), '.'])
    writeFileSync(join(tree, 'broken.tar'), 'no archive\n')
  })
  afterAll(() => rmSync(tree, { recursive: true }))

  test('is made of an archive that is sent, and what is none is refused in the dialog', async () => {
    await visitor.open('/bases?dialog=make&of=archive', 'Create base')
    await dialog().getByLabel('Project', { exact: true }).fill('yard')
    await dialog().getByLabel('Name', { exact: true }).fill('sent')
    await dialog().getByLabel('Archive').setInputFiles(join(tree, 'broken.tar'))
    await button('Create').click()
    await dialog().getByRole('alert').waitFor()
    await dialog().getByLabel('Archive').setInputFiles(join(tree, 'root.tar'))
    await button('Create').click()
    await visitor.sees('Created base yard/sent.')
    expect((await client.get('/v1/projects/yard/bases/sent')).body.source).toBe('tar')
    await user.page.getByRole('row', { name: /yard\/sent/ }).waitFor()
  })
})

describe('the quota of a project that is named', () => {
  test('is shown before it is set anew', async () => {
    const quota = { allowed: { boxes: 7, cpus: null, ram_mb: null, storage_gb: null } }
    await client.put('/v1/projects/held/quota', quota)
    await visitor.open('/projects', 'Projects')
    await button('Set quota').click()
    await dialog().getByLabel('Project').fill('held')
    await button('Continue').click()
    await user.page.getByRole('heading', { name: 'Quota of held' }).waitFor()
    await eventually(async () => (await dialog().getByLabel('Boxes').inputValue()) === '7')
    await dialog().getByLabel('CPU').fill('2')
    await button('Save').click()
    await visitor.sees('Saved the quota of held.')
    expect((await client.get('/v1/projects/held/quota')).body.allowed).toMatchObject({ boxes: 7, cpus: 2 })
    await button('Undo').click()
    await client.until('/v1/projects/held/quota', ({ body }) => body.allowed.cpus === null)
  })
})

describe('a sign-out that fails', () => {
  test('is told, and the session can be forgotten here alone', async () => {
    const keyOf = (): Promise<string | null> => user.page.evaluate("localStorage.getItem('boxyard.session')")
    await user.page.route('**/v1/session', (route) => route.abort())
    await button('Sign out').click()
    await user.page.getByRole('heading', { name: "Couldn't sign out" }).waitFor()
    await dialog().getByText('Boxyard cannot be reached.').waitFor()
    await button('Stay signed in').click()
    await dialog().waitFor({ state: 'detached' })
    expect(await keyOf()).not.toBeNull()
    await button('Sign out').click()
    await button('Forget session here').click()
    await user.page.getByRole('heading', { name: 'Sign in to Boxyard' }).waitFor()
    expect(await keyOf()).toBeNull()
  })
})

describe('what is told', () => {
  test('is reached by F8 and undone without a mouse, and an error is dismissed', async () => {
    await visitor.open('/boxes/yard/one', 'yard/one')
    await button('Stop').click()
    await visitor.sees('Stopped yard/one.')
    await button('Start').focus()
    await user.page.keyboard.press('F8')
    expect(await isFocused(button('Undo'))).toBe(true)
    await user.page.keyboard.press('F8')
    expect(await isFocused(button('Start'))).toBe(true)
    await user.page.keyboard.press('F8')
    await user.page.keyboard.press('Enter')
    await button('Stop').waitFor()
    await user.page.route('**/boxes/one/stop', (route) => route.abort())
    await button('Stop').click()
    await user.page.getByRole('alert').waitFor()
    await user.page.keyboard.press('F8')
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('alert').waitFor({ state: 'detached' })
  })
})

describe('a terminal', () => {
  test('gets Ctrl-K when it is pressed twice, and is read out by a screen reader if that is chosen', async () => {
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await visitor.type('cat -v')
    await untilOnScreen(visitor, 'cat -v')
    await user.page.keyboard.press('Control+k')
    await visitor.sees('Press Ctrl-K again to send it to the terminal.')
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').waitFor({ state: 'detached' })
    await eventually(() => isFocused(user.page.locator('.xterm-helper-textarea')))
    await user.page.keyboard.type('typed\n')
    await untilOnScreen(visitor, '^Ktyped')
    await user.page.keyboard.press('Control+c')
    await button('Screen reader').click()
    await user.page.reload({ waitUntil: 'commit' })
    expect(await button('Screen reader').getAttribute('aria-pressed')).toBe('true')
    await visitor.type('echo read-$((40 + 2))')
    await user.page.locator('.xterm-accessibility-tree').getByText('read-42').waitFor()
  })
})

describe('a page that is gone to', () => {
  const heading = (name: string): Locator => user.page.getByRole('heading', { level: 1, name })

  test('has the focus at its heading and names the tab, and a change of what it shows leaves both', async () => {
    await user.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Boxes' }).click()
    await eventually(() => isFocused(heading('Boxes')))
    expect(await user.page.title()).toBe('Boxes · Boxyard')
    const filter = user.page.getByLabel('Name, tag or base')
    await filter.fill('one')
    await user.page.waitForURL(/q=one/)
    expect(await isFocused(filter)).toBe(true)
    await user.page.getByRole('link', { name: 'yard/one' }).click()
    // The box page opens on its terminal, which takes keys at once.
    await heading('yard/one').waitFor()
    await eventually(() => isFocused(user.page.locator('.xterm-helper-textarea')))
    await user.page.getByRole('link', { name: 'Files', exact: true }).click()
    await eventually(() => isFocused(user.page.getByRole('region', { name: 'Files of one' })))
    expect(await user.page.title()).toBe('yard/one · Files · Boxyard')
    await user.page.goBack()
    await user.page.goBack()
    await eventually(() => isFocused(heading('Boxes')))
  })

  test('gives the focus back to what has opened a dialog', async () => {
    await visitor.open('/boxes/yard/one', 'yard/one')
    await visitor.choose('one', 'Fork')
    await dialog().waitFor()
    await user.page.keyboard.press('Escape')
    await eventually(() => isFocused(button('More actions for one')))
  })
})
