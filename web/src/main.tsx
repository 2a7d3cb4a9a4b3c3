import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { forgetJobs } from './api/jobs.ts'
import { takeLink } from './api/link-ticket.ts'
import { ownPath } from './api/own-path.ts'
import { createQueryClient } from './api/query-client.ts'
import { followOthers, hasSession, isSessionChange, keepReason, reasonKept, watchSession } from './api/session.ts'
import { createAppRouter } from './router.tsx'
import { startTheme } from './shell/theme.ts'
import './fonts.css'
import './styles.css'

/** Starts the console in its page. */
function start(place: HTMLElement): void {
  // Runs first, before the router sees an address, so that no other code finds a link there.
  takeLink()
  addEventListener('popstate', takeLink)
  startTheme()
  const queries = createQueryClient()
  const router = createAppRouter(queries)
  followSession(router, queries)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}

/** Shows the sign-in once the session has ended, here or in another tab. Returns to the page once another session has begun there. */
function followSession(router: ReturnType<typeof createAppRouter>, queries: QueryClient): void {
  const leave = async (): Promise<void> => {
    const { pathname, href, search } = router.state.location
    const from = ownPath(pathname === SIGN_IN ? search.to : href)
    // A page with unsaved changes asks first.
    if (pathname !== SIGN_IN) await router.navigate({ to: SIGN_IN, search: from === '/' ? {} : { to: from } })
    if (router.state.location.pathname !== SIGN_IN) return
    queries.clear()
    forgetJobs()
    if (hasSession()) await router.navigate({ href: ownPath(from), replace: true })
  }
  watchSession((reason) => {
    keepReason(reason)
    void leave()
  })
  addEventListener('storage', (change) => {
    if (!isSessionChange(change)) return
    // Unsaved changes have kept the page, so it continues in the new session.
    const hasStayed = hasSession() && reasonKept() !== null && router.state.location.pathname !== SIGN_IN
    keepReason(followOthers())
    if (hasStayed) void queries.invalidateQueries()
    else void leave()
  })
}

const SIGN_IN = '/sign-in'
const place = document.getElementById('root')
if (place) start(place)
