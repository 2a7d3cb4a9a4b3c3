import { afterEach, beforeEach, expect } from '@jest/globals'
import { type BrowserUser, useBrowser } from '../edge/browser.ts'
import type { Client } from '../front/client.ts'
import { type ConsoleVisitor, visitorOf } from './visitor.ts'

/** A console that is visited, and a client with the token of whoever visits it. */
export interface VisitedConsole {
  service: { url: string }
  client: Client
}

/** What a test has of its visit. */
export interface Visits {
  /** The browser of the running test, which that test alone has. */
  user: BrowserUser
  /** The way in its page, which is signed in and shows the overview when a test begins. */
  visitor: ConsoleVisitor
  /** Goes on in another browser, where nobody is signed in. */
  changeBrowser(): Promise<void>
}

/** Visits a console before each test of the calling file, and expects after it that no page complained. */
export function useVisits(visited: () => VisitedConsole): Visits {
  const { newUser } = useBrowser('localhost')
  let current: BrowserUser | null = null
  const ofNow = (): BrowserUser => {
    if (current === null) throw new Error('no test has begun')
    return current
  }
  const user: BrowserUser = {
    get context() {
      return ofNow().context
    },
    get page() {
      return ofNow().page
    },
    get complaints() {
      return ofNow().complaints
    },
  }
  const visitor = visitorOf(user, () => visited().service)
  const changeBrowser = async (): Promise<void> => {
    current = await newUser()
  }
  beforeEach(async () => {
    await changeBrowser()
    const { body } = await visited().client.post('/v1/session/links')
    await visitor.signInBy(body.ticket)
  })
  afterEach(() => {
    expect(user.complaints).toEqual([])
  })
  return { user, visitor, changeBrowser }
}
