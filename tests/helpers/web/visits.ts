import { afterEach, beforeEach, expect } from '@jest/globals'
import { type BrowserUser, useBrowser } from '../edge/browser.ts'
import type { Client } from '../front/client.ts'
import { type ConsoleVisitor, visitorOf } from './visitor.ts'

/** A console to visit, and a client with the visitor's token. */
export interface VisitedConsole {
  service: { url: string }
  client: Client
}

/** The visitor and the browser of a test. */
export interface Visits {
  /** The browser of the running test. Other tests do not share it. */
  user: BrowserUser
  /** Operates the browser's page, which starts each test signed in, on the overview. */
  visitor: ConsoleVisitor
  /** Continues in another browser without a session. */
  changeBrowser(): Promise<void>
}

/** Visits a console before each test of the calling file. After the test, expects no complaints from its pages. */
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
