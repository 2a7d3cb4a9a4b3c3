import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/query-client.ts'
import { keepReason, watchSession } from './api/session.ts'
import { createAppRouter } from './router.tsx'
import { startTheme } from './shell/theme.ts'
import './styles.css'

/** Starts the console in its page. */
function start(place: HTMLElement): void {
  startTheme()
  const queries = createQueryClient()
  const router = createAppRouter(queries)
  watchSession((reason) => {
    keepReason(reason)
    const { href } = router.state.location
    // What is not saved asks first whether the page may be left.
    void router.navigate({ to: '/sign-in', search: href === '/' ? {} : { to: href } }).then(() => {
      if (router.state.location.pathname === '/sign-in') queries.clear()
    })
  })
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}

const place = document.getElementById('root')
if (place) start(place)
