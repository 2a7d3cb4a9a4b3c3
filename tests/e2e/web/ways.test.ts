import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { isFocused } from '../../helpers/web/visitor.ts'

const { client, user, visitor, changeBrowser } = useConsole(useSharedService())
const { button, dialog } = visitor
const BOX = '/v1/projects/yard/boxes/one'

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

const contentOf = async (path: string): Promise<string> =>
  (await client.shell('yard', 'one', `cat ${path} 2>&1`)).body.stdout?.trim() ?? 'no answer'

describe('files', () => {
  test('one is edited and saved, and never over what somebody else has written meanwhile', async () => {
    await client.shell('yard', 'one', 'echo first > /srv/note')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fnote', 'yard/one')
    const text = user.page.getByLabel('Text of the file')
    await text.fill('second\n')
    await button('Save').click()
    await eventually(async () => (await contentOf('/srv/note')) === 'second')
    await text.fill('third\n')
    await client.shell('yard', 'one', 'echo of another > /srv/note')
    await button('Save').click()
    await user.page.getByRole('heading', { name: 'The file has changed' }).waitFor()
    expect(await contentOf('/srv/note')).toBe('of another')
    await button('Reload').click()
    await eventually(async () => (await text.inputValue()) === 'of another\n')
  })

  test('one that was deleted meanwhile is told as that, and is written anew or given up', async () => {
    await client.shell('yard', 'one', 'mkdir /srv/gone; echo first > /srv/gone/note; chmod 600 /srv/gone/note')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fgone%2Fnote', 'note')
    const text = user.page.getByLabel('Text of the file')
    await text.fill('mine\n')
    await client.shell('yard', 'one', 'rm -r /srv/gone')
    await button('Save').click()
    await user.page.getByRole('heading', { name: 'The file was deleted' }).waitFor()
    await button('Save as new file').click()
    await visitor.sees('Saved /srv/gone/note as a new file.')
    const { body } = await client.shell('yard', 'one', 'cat /srv/gone/note; stat -c %a /srv/gone/note')
    expect(body.stdout).toBe('mine\n600\n')
    await text.fill('other\n')
    await client.shell('yard', 'one', 'rm /srv/gone/note')
    await button('Save').click()
    await dialog().getByRole('button', { name: 'Discard changes' }).click()
    await visitor.sees('file_not_found')
    expect(await text.count()).toBe(0)
  })

  test('one is renamed and deleted on its own page, which follows', async () => {
    await client.shell('yard', 'one', 'echo first > /srv/named')
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv%2Fnamed', 'named')
    await button('Rename').click()
    await dialog().getByLabel('Name').fill('other')
    await dialog().getByRole('button', { name: 'Rename' }).click()
    await user.page.getByRole('heading', { name: 'other', exact: true }).waitFor()
    await visitor.press('Undo')
    await user.page.getByRole('heading', { name: 'named', exact: true }).waitFor()
    expect(await contentOf('/srv/named')).toBe('first')
    await button('Delete named').click()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await user.page.getByRole('heading', { name: 'srv', exact: true }).waitFor()
    expect(await user.page.getByRole('link', { name: 'named', exact: true }).count()).toBe(0)
  })

  test('one is uploaded, found in its directory, and deleted', async () => {
    await visitor.open('/boxes/yard/one/files?path=%2Fsrv', 'yard/one')
    const upload = { name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('sent by a browser\n') }
    await user.page.getByLabel('Files to upload').setInputFiles(upload)
    await user.page.getByRole('link', { name: 'up.txt' }).waitFor()
    expect(await contentOf('/srv/up.txt')).toBe('sent by a browser')
    await button('Delete up.txt').click()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await user.page.getByRole('link', { name: 'up.txt' }).waitFor({ state: 'detached' })
  })
})

describe('looking back', () => {
  test('a box is snapshot, broken, compared with what it was, and restored, and that undone', async () => {
    await client.shell('yard', 'one', 'echo good > /root/app; echo same > /root/kept; echo first > /root/text')
    await visitor.open('/boxes/yard/one/snapshots', 'Timeline')
    await button('Take snapshot').first().click()
    await dialog().getByLabel('Name').fill('good')
    await dialog().getByRole('button', { name: 'Take snapshot' }).click()
    await visitor.sees('Took snapshot good.')
    await client.shell('yard', 'one', 'rm /root/app; echo broken > /root/other; echo second > /root/text')

    await visitor.open('/boxes/yard/one/snapshots?from=good&to=live', 'Changes from')
    await visitor.sees('/root/app')
    await visitor.sees('/root/other')
    expect(await user.page.getByText('/root/kept').count()).toBe(0)
    await user.page.getByRole('link', { name: 'Compare the text of /root/text' }).click()
    await user.page.getByRole('row', { name: 'deleted first' }).waitFor()
    await user.page.getByRole('row', { name: 'added second' }).waitFor()
    await user.page.getByRole('link', { name: 'All changes' }).click()
    await button('Restore /root/text').click()
    await dialog().getByRole('button', { name: 'Restore' }).click()
    await visitor.sees('Restored /root/text to good.')
    await button('Restore /root/text').waitFor({ state: 'detached' })
    await visitor.open('/boxes/yard/one/snapshots?from=good&to=live&file=%2Froot%2Ftext', '/root/text')
    await visitor.sees('Permissions, owner and time are the same too')
    await visitor.open('/boxes/yard/one/files?path=%2Froot%2Fapp&snapshot=good', 'yard/one')
    await eventually(async () => (await user.page.getByLabel('Text of the file').inputValue()) === 'good\n')

    await visitor.open('/boxes/yard/one/snapshots', 'Timeline')
    await client.put(BOX, { termination_grace_period_seconds: 15 })
    const stubborn = ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done']
    await client.post(`${BOX}/exec`, { command: stubborn, no_hup: true })
    await button('Restore good').click()
    await dialog().getByRole('button', { name: 'Restore' }).click()
    await visitor.sees(/^Restoring a snapshot/)
    await visitor.sees(/\d+ s so far\./)
    await visitor.sees('Restored one to good.')
    expect(await contentOf('/root/app')).toBe('good')
    await visitor.press('Undo')
    await eventually(async () => (await contentOf('/root/other')) === 'broken')
  })

  test('what is done with a snapshot more rarely is reached by keys, and the focus comes back', async () => {
    await client.post(`${BOX}/snapshots`, { name: 'kept' })
    await visitor.open('/boxes/yard/one/snapshots', 'Timeline')
    const more = button('More actions for kept')
    const item = (name: string): Locator => user.page.getByRole('menuitem', { name, exact: true })
    await more.focus()
    await user.page.keyboard.press('Enter')
    await eventually(() => isFocused(item('Files as in kept')))
    const ways = { End: 'Delete kept', ArrowUp: 'Fork from kept', ArrowDown: 'Delete kept' }
    for (const [key, name] of Object.entries(ways)) {
      await user.page.keyboard.press(key)
      await eventually(() => isFocused(item(name)))
    }
    await user.page.keyboard.press('Enter')
    await dialog().getByText('Delete the snapshot kept of yard/one?').waitFor()
    await user.page.keyboard.press('Escape')
    await eventually(() => isFocused(more))
  })
})

/** Opens a private URL with one click in a fresh browser, and then once more. */
async function enterPrivately(url: string, text: string): Promise<void> {
  const link = user.page.getByRole('link', { name: url, exact: true }).first()
  for (let visit = 0; visit < 2; visit++) {
    const [tab] = await Promise.all([user.context.waitForEvent('page'), link.click()])
    await tab.getByText(text).waitFor()
    expect(tab.url()).toBe(url)
    await tab.close()
  }
}

describe('a fork', () => {
  test('is made of a box as it is, and as a snapshot has it, and its page opens', async () => {
    await client.shell('yard', 'one', 'echo then > /root/forked')
    await client.post(`${BOX}/snapshots`, { name: 'past' })
    await client.shell('yard', 'one', 'echo now > /root/forked')
    await visitor.open('/boxes/yard/one', 'yard/one')
    await visitor.choose('one', 'Fork')
    await dialog().getByRole('button', { name: 'Fork' }).click()
    await user.page.getByRole('heading', { level: 1, name: 'yard/one-2' }).waitFor()
    await visitor.open('/boxes/yard/one/snapshots', 'Timeline')
    await button('More actions for past').click()
    await user.page.getByRole('menuitem', { name: 'Fork from past' }).click()
    await dialog().getByRole('button', { name: 'Fork' }).click()
    await user.page.getByRole('heading', { level: 1, name: 'yard/one-past' }).waitFor()
    for (const [name, content] of [
      ['one-2', 'now\n'],
      ['one-past', 'then\n'],
    ] as const)
      expect((await client.shell('yard', name, 'cat /root/forked')).body.stdout).toBe(content)
  })
})

describe('services', () => {
  test('a version is deployed beside the one that serves, seen next to it, and takes over', async () => {
    await client.shell(
      'yard',
      'one',
      'mkdir -p /srv/a /srv/b; echo one > /srv/a/index.html; echo two > /srv/b/index.html',
    )
    const command = ['sh', '-c', 'exec httpd -f -p $PORT -h /srv/a']
    await client.put(`${BOX}/services/site`, { command, port: 3000, readiness: { tcp: true } })
    await eventually(async () => (await client.get(`${BOX}/services/site`)).body.state === 'running')
    await visitor.open('/boxes/yard/one/services?service=site', 'Domains')
    await button('Deploy version').click()
    await dialog().getByLabel('Command').fill("sh -c 'exec httpd -f -p $PORT -h /srv/b'")
    await button('Deploy').last().click()
    await visitor.sees('Deployed a preview of site.')
    const { preview_url: previewUrl } = (await client.get(`${BOX}/services/site`)).body
    expect(await button('Show both here').count()).toBe(0)
    await enterPrivately(previewUrl, 'two')
    await button('Make public').click()
    await visitor.sees('The URLs of one are now public.')
    await button('Show both here').click()
    await user.page.frameLocator('iframe[title="The active version"]').getByText('one').waitFor()
    await user.page.frameLocator('iframe[title="The preview version"]').getByText('two').waitFor()
    await button('Discard preview').click()
    await dialog().getByText('/srv/b').waitFor()
    await user.page.keyboard.press('Escape')
    await button('Stop service').click()
    await dialog()
      .getByText(/the active version .*\/srv\/a.*the preview .*\/srv\/b/)
      .waitFor()
    await user.page.keyboard.press('Escape')
    await button('Promote preview').click()
    await button('Roll back').waitFor()
    expect((await client.get(`${BOX}/services/site`)).body.spec.command.join(' ')).toContain('/srv/b')
  })
})

describe('tokens', () => {
  test('one that may only read is minted, shown once, and is offered nothing that it may not do', async () => {
    await visitor.open('/tokens?dialog=create', 'Create token')
    await dialog().getByLabel('Name').fill('reader')
    await dialog().getByLabel('Projects', { exact: true }).fill('yard')
    await dialog().getByRole('button', { name: 'Create token' }).click()
    await user.page.getByRole('heading', { name: 'Token reader' }).waitFor()
    const token = await dialog().locator('pre').innerText()
    await button('Done').click()
    expect(await user.page.content()).not.toContain(token.trim())

    // Uses another browser, because the tokens that a session created end when it signs out.
    await changeBrowser()
    await visitor.open('/sign-in', 'Sign in to Boxyard')
    await user.page.getByLabel('Access token').fill(token)
    await visitor.press('Sign in')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    await visitor.open('/boxes/yard/one', 'yard/one')
    for (const part of ['Terminal', 'Stop', 'Delete'])
      expect(await user.page.getByText(part, { exact: true }).count()).toBe(0)
    await visitor.open('/boxes/yard/one/terminal', 'yard/one')
    await visitor.sees('permission_denied')
    // The page offers nothing that would fail again.
    await visitor.open('/boxes/yard/none', 'Box not found')
    await visitor.sees('box_not_found')
    expect(await user.page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  })
})

describe('two boxes', () => {
  test('what was asked for on the page of one is undone there, also from the page of another', async () => {
    await client.post('/v1/projects/yard/boxes', { name: 'other' })
    await visitor.open('/boxes/yard/one', 'yard/one')
    await visitor.press('Stop')
    await visitor.sees('Stopped yard/one.')
    await client.post('/v1/projects/yard/boxes/other/stop')
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').fill('other')
    await user.page.getByRole('option', { name: /^yard\/other box/ }).waitFor()
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('heading', { name: 'yard/other' }).waitFor()
    await visitor.press('Undo')
    await client.until(BOX, ({ body }) => body.status === 'running')
    expect((await client.get('/v1/projects/yard/boxes/other')).body.status).toBe('stopped')
  })
})
