import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { useConsole } from '../../helpers/web/own-console.ts'

const { client, user, visitor, changeBrowser } = useConsole()
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
    await button('Read it anew, without my changes').click()
    await eventually(async () => (await text.inputValue()) === 'of another\n')
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
    await visitor.open('/boxes/yard/one/snapshots', 'Time line')
    await button('Take a snapshot').first().click()
    await dialog().getByLabel('Name').fill('good')
    await button('Take it').click()
    await visitor.sees('The snapshot good is taken.')
    await client.shell('yard', 'one', 'rm /root/app; echo broken > /root/other; echo second > /root/text')

    await visitor.open('/boxes/yard/one/snapshots?from=good&to=live', 'Changes from')
    await visitor.sees('/root/app')
    await visitor.sees('/root/other')
    expect(await user.page.getByText('/root/kept').count()).toBe(0)
    await user.page.getByRole('link', { name: 'Compare the text of /root/text' }).click()
    await user.page.getByRole('row', { name: 'deleted first' }).waitFor()
    await user.page.getByRole('row', { name: 'added second' }).waitFor()
    await visitor.open('/boxes/yard/one/files?path=%2Froot%2Fapp&snapshot=good', 'yard/one')
    await eventually(async () => (await user.page.getByLabel('Text of the file').inputValue()) === 'good\n')

    await visitor.open('/boxes/yard/one/snapshots', 'Time line')
    await button('Restore good').click()
    await dialog().getByRole('button', { name: 'Restore' }).click()
    await visitor.sees('yard/one is as good has it.')
    expect(await contentOf('/root/app')).toBe('good')
    await visitor.press('Undo')
    await eventually(async () => (await contentOf('/root/other')) === 'broken')
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
    await client.post(`${BOX}/publish`, { domains: [], auth: 'public' })
    await eventually(async () => (await client.get(`${BOX}/services/site`)).body.state === 'running')
    await visitor.open('/boxes/yard/one/services?service=site', 'Domains')
    await button('Deploy a version').click()
    await dialog().getByLabel('Command').fill("sh -c 'exec httpd -f -p $PORT -h /srv/b'")
    await button('Deploy').last().click()
    await visitor.sees('The version of site runs as its preview.')
    const { preview_url: previewUrl } = (await client.get(`${BOX}/services/site`)).body
    const preview = await user.context.newPage()
    await untilSucceeds(async () => {
      await preview.goto(previewUrl, { waitUntil: 'commit' })
      expect(await preview.innerText('body')).toContain('two')
    })
    await visitor.press('Show both here')
    await user.page.frameLocator('iframe[title="The active version"]').getByText('one').waitFor()
    await user.page.frameLocator('iframe[title="The preview version"]').getByText('two').waitFor()
    await button('Promote the preview').click()
    await button('Roll back').waitFor()
    expect((await client.get(`${BOX}/services/site`)).body.spec.command.join(' ')).toContain('/srv/b')
  })
})

describe('tokens', () => {
  test('one that may only read is minted, shown once, and is offered nothing that it may not do', async () => {
    await visitor.open('/tokens?dialog=mint', 'Mint a token')
    await dialog().getByLabel('Name').fill('reader')
    await dialog().getByLabel('Projects', { exact: true }).fill('yard')
    await dialog().getByRole('button', { name: 'Mint' }).click()
    await user.page.getByRole('heading', { name: 'The token reader' }).waitFor()
    const token = await dialog().locator('pre').innerText()
    await button('I have it').click()
    expect(await user.page.content()).not.toContain(token.trim())

    // Another browser: what a session has minted ends when it signs out.
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
  })
})

describe('two boxes', () => {
  test('what was asked for on the page of one is undone there, also from the page of another', async () => {
    await client.post('/v1/projects/yard/boxes', { name: 'other' })
    await visitor.open('/boxes/yard/one', 'yard/one')
    await visitor.press('Stop')
    await visitor.sees('yard/one is stopped.')
    await client.post('/v1/projects/yard/boxes/other/stop')
    await user.page.keyboard.press('Control+k')
    await user.page.getByRole('combobox').fill('other')
    await user.page.getByRole('option', { name: /^yard\/other box/ }).waitFor()
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('heading', { name: 'yard/other' }).waitFor()
    await visitor.press('Undo')
    await eventually(async () => (await client.get(BOX)).body.status === 'running')
    expect((await client.get('/v1/projects/yard/boxes/other')).body.status).toBe('stopped')
  })
})
