import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { useConsole } from '../../helpers/web/visited-console.ts'
import { isFocused, visitorOf } from '../../helpers/web/visitor.ts'

const { client, service, user, visitor, changeBrowser } = useConsole(useOwnService())
const SIGN_IN = 'Sign in to Boxyard'

beforeAll(async () => {
  await client.post('/v1/projects/yard/boxes', { name: 'one' })
})

/** Creates a token of the project yard, and a link that signs in with it. */
async function linkOf(name: string): Promise<{ ticket: string; id: string; token: string }> {
  const { body } = await client.post('/v1/tokens', { name, projects: ['yard'], permissions: ['read'] })
  const made = await client.post('/v1/session/links', undefined, { token: body.token })
  return { ticket: made.body.ticket, id: body.id, token: body.token }
}

/** Returns the name of the signed-in user, by the halves of the session, or null if signed out. */
const signedInAs = (): Promise<string | null> =>
  user.page.evaluate(async () => {
    const session = localStorage.getItem('boxyard.session')
    if (session === null) return null
    const answer = await fetch('/v1/me', { headers: { 'x-boxyard-session': session } })
    const me = (await answer.json()) as { on_behalf_of: { name: string } | null }
    return me.on_behalf_of?.name ?? null
  })

const pageAt = (path: string): Promise<unknown> => user.page.goto(`${service().url}${path}`, { waitUntil: 'commit' })

const question = (name: string) => user.page.getByRole('heading', { name: `Sign in as ${name}?`, exact: true })

const sessionsOf = async (id: string): Promise<number> => {
  const { body } = await client.get('/v1/tokens?max_results=1000')
  return body.tokens.filter((each: Record<string, unknown>) => each['is_session'] && each['created_by'] === id).length
}

describe('a sign-in link', () => {
  test('asks first, and says whom it signs in where', async () => {
    await changeBrowser()
    const { ticket, id } = await linkOf('guest')
    await visitor.open(`/sign-in#${ticket}`, SIGN_IN)
    await question('guest').waitFor()
    for (const text of [new URL(service().url).host, `guest (${id})`, 'yard', 'read']) await visitor.sees(text)
    expect(await signedInAs()).toBeNull()
    expect(await sessionsOf(id)).toBe(0)
    await visitor.press('Sign in as guest')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await signedInAs()).toBe('guest')
    expect(await sessionsOf(id)).toBe(1)
  })

  test('signs in by Enter on its button, and by no other key', async () => {
    await changeBrowser()
    const { ticket, id } = await linkOf('by-key')
    await visitor.open(`/sign-in#${ticket}`, SIGN_IN)
    await question('by-key').waitFor()
    // The question ignores keys pressed before.
    await user.page.keyboard.press('Enter')
    await user.page.keyboard.press('Space')
    expect(await sessionsOf(id)).toBe(0)
    await user.page.getByRole('button', { name: 'Sign in as by-key' }).focus()
    await user.page.keyboard.press('Enter')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await signedInAs()).toBe('by-key')
  })

  test('says whose session it would end, and leaves that as it is where it is declined', async () => {
    const { ticket, id } = await linkOf('stranger')
    await visitor.open(`/sign-in?to=%2Fboxes#${ticket}`, SIGN_IN)
    await question('stranger').waitFor()
    await visitor.sees('You are signed in as admin.')
    await visitor.press('Cancel')
    await user.page.getByRole('heading', { name: 'Boxes', exact: true }).waitFor()
    expect(await signedInAs()).toBe('admin')
    expect(await sessionsOf(id)).toBe(0)
    // The link was not used up, so its creator can still sign in.
    await visitor.open(`/sign-in#${ticket}`, SIGN_IN)
    await visitor.press('Sign in as stranger')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await signedInAs()).toBe('stranger')
  })

  test('stays in no address, no history, no referrer and nothing that the browser keeps', async () => {
    const { ticket } = await linkOf('traceless')
    const sent: string[] = []
    user.page.on('request', (request) => sent.push(`${request.url()} ${request.headers()['referer'] ?? ''}`))
    await visitor.open(`/sign-in#${ticket}`, SIGN_IN)
    await question('traceless').waitFor()
    const kept = () => user.page.evaluate<string>(KEPT)
    expect(await kept()).not.toContain(ticket)
    await visitor.press('Sign in as traceless')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await kept()).not.toContain(ticket)
    await user.page.goBack({ waitUntil: 'commit' })
    expect(user.page.url()).not.toContain(ticket)
    // Only the document's own address contains the ticket, and no request of the page does.
    expect(sent.filter((line) => line.includes(ticket))).toEqual(sent.filter((line) => line.includes(`#${ticket}`)))
    expect(service().logs.join('\n')).not.toContain(ticket)
  })

  test('asks where it is pasted: into the field, and into the address bar of the same tab', async () => {
    await visitor.press('Sign out')
    await user.page.getByRole('heading', { name: SIGN_IN }).waitFor()
    const [first, second] = [await linkOf('pasted'), await linkOf('typed')]
    await user.page.getByLabel('Access token').fill(` ${service().url}/sign-in#${first.ticket}\n`)
    await visitor.press('Sign in')
    await question('pasted').waitFor()
    await visitor.press('Cancel')
    await user.page.getByLabel('Access token').waitFor()
    expect(await sessionsOf(first.id)).toBe(0)
    // Does what an address bar does when only the fragment changes, without a page load.
    await user.page.evaluate(`location.assign('#${second.ticket}')`)
    await question('typed').waitFor()
    expect(user.page.url()).not.toContain(second.ticket)
    expect(await user.page.evaluate<string>(KEPT)).not.toContain(second.ticket)
    expect(await sessionsOf(second.id)).toBe(0)
    await visitor.press('Sign in as typed')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await signedInAs()).toBe('typed')
  })

  test('works once, and one that is used, over or cut off is told of, beside the way on', async () => {
    const { ticket } = await linkOf('once')
    await visitor.signInBy(ticket)
    for (const [path, words] of [
      [`/sign-in#${ticket}`, 'token_invalid'],
      ['/sign-in#%00<b>', 'This link is not complete.'],
    ] as const) {
      // Visits another page first, because a browser does not load an address that differs only by its fragment.
      await pageAt('/problems')
      await visitor.open(path, SIGN_IN)
      await visitor.sees(words)
      expect(await user.page.getByRole('button', { name: /^Sign in as/ }).count()).toBe(0)
    }
    await visitor.press('Back')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await signedInAs()).toBe('once')
  })

  test('is shown in no frame, of any origin, and answers no form of another page', async () => {
    const { ticket, id } = await linkOf('framed')
    const { headers } = await client.get('/sign-in', { token: null, headers: { accept: 'text/html' } })
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['x-frame-options']).toBe('DENY')
    const other = await user.context.newPage()
    // This page is cross-site to the console, because its host name differs.
    const elsewhere = service().url.replace('127.0.0.1', 'localhost')
    await other.route(`${elsewhere}/evil`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method=post enctype=text/plain action="${service().url}/v1/session?ticket=${ticket}"></form>
<script>onload = () => document.forms[0].submit()</script>`,
      }),
    )
    const refused = other.waitForResponse(`${service().url}/v1/session?ticket=${ticket}`)
    await other.goto(`${elsewhere}/evil`, { waitUntil: 'commit' })
    expect((await refused).status()).toBe(403)
    expect(await sessionsOf(id)).toBe(0)
    expect(await signedInAs()).toBe('admin')
    await other.close()
    user.complaints.splice(0)
  })
})

describe('the field for a token', () => {
  test('has the focus where no link is asked about', async () => {
    await changeBrowser()
    await visitor.open('/sign-in', SIGN_IN)
    await eventually(() => isFocused(user.page.getByLabel('Access token')))
    await user.page.keyboard.type('no.such.token\n')
    await visitor.sees('token_invalid')
  })
})

describe('where a sign-in leads', () => {
  const HOSTILE = [
    ...['http://evil.test/x', '//evil.test/x', '/\\evil.test/x', '\\\\evil.test', '/\t/evil.test', '/%0a/evil.test'],
    ...[
      'javascript:document.title="evil"',
      '/.//evil.test',
      '/%2f/evil.test',
      '/%5cevil.test',
      '/sign-in?to=%2Fsign-in',
    ],
    ...['["//evil.test"]', '{"href":"//evil.test"}', `/${'x'.repeat(5_000)}`, '1', ''],
  ]

  test('is a page of this origin, whatever its address says', async () => {
    const { token } = await linkOf('led')
    const asked: string[] = []
    await user.context.route(
      ({ hostname }) => hostname.endsWith('evil.test'),
      (route) => {
        asked.push(route.request().url())
        return route.abort()
      },
    )
    for (const to of HOSTILE) {
      await changeBrowserTab()
      await pageAt(`/sign-in?to=${encodeURIComponent(to)}`)
      await user.page.getByLabel('Access token').fill(token)
      await visitor.press('Sign in')
      await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
      expect([to, new URL(user.page.url()).origin, new URL(user.page.url()).pathname]).toEqual([to, service().url, '/'])
    }
    expect(asked).toEqual([])
    expect(await user.page.title()).not.toBe('evil')
  })

  test('is one that was asked for several times, too, by its last word alone', async () => {
    const { ticket } = await linkOf('several')
    await visitor.open(`/sign-in?to=%2Fboxes&to=%2F%2Fevil.test#${ticket}`, SIGN_IN)
    await visitor.press('Sign in as several')
    await user.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(new URL(user.page.url()).origin).toBe(service().url)
  })

  test('is the page that was asked for, with its query', async () => {
    await visitor.press('Sign out')
    await visitor.open('/boxes?q=team%3Da', SIGN_IN)
    const { token } = await linkOf('asked')
    await user.page.getByLabel('Access token').fill(token)
    await visitor.press('Sign in')
    await user.page.getByRole('heading', { name: 'Boxes', exact: true }).waitFor()
    expect(new URL(user.page.url()).search).toBe('?q=team%3Da')
  })

  test('is no other origin for another tab that hears of it either', async () => {
    const { token } = await linkOf('tabs')
    const other = await user.context.newPage()
    const second = visitorOf({ page: other }, service)
    await visitor.press('Sign out')
    await second.open('/sign-in?to=%2F%2Fevil.test', SIGN_IN)
    await user.page.getByLabel('Access token').fill(token)
    await visitor.press('Sign in')
    await other.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(new URL(other.url()).origin).toBe(service().url)
    await other.close()
  })
})

/** Leaves the page, so that the next address loads. */
async function changeBrowserTab(): Promise<void> {
  await pageAt('/problems')
}

/** Everything on a page that persists. This is text, because the types are a browser's. */
const KEPT =
  'JSON.stringify([location.href, history.state, { ...localStorage }, { ...sessionStorage }, document.body.innerHTML])'
