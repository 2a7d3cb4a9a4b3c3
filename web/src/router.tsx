import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router'
import { liveCursorQuery } from './api/live-cursor.ts'
import { ownPath } from './api/own-path.ts'
import { meQuery } from './api/queries.ts'
import { hasSession, noteLoss } from './api/session.ts'
import { BOX_PARTS } from './pages/box/parts.ts'
import { Failure, FailureAlone, Missing, MissingPart, PartFailure } from './pages/failure.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { landOnPages } from './shell/landing.ts'
import { Layout } from './shell/layout.tsx'
import { lazyPage } from './shell/page-files.ts'
import { PendingPage, Starting } from './shell/pending-page.tsx'
import { Loading } from './ui/page.tsx'

/** Creates the table of pages. Each has its own file, apart from the file of the first load. */
export function createAppRouter(queries: QueryClient) {
  const root = createRootRouteWithContext<{ queries: QueryClient }>()({
    component: Outlet,
    errorComponent: FailureAlone,
  })
  const signIn = createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    component: SignIn,
    validateSearch: (search): { to?: string } => pageAfter(search['to']),
  })
  const session = createRoute({
    getParentRoute: () => root,
    id: 'session',
    component: Layout,
    errorComponent: FailureAlone,
    pendingComponent: Starting,
    beforeLoad: ({ location }) => {
      if (hasSession()) return
      noteLoss()
      redirect({ to: '/sign-in', search: pageAfter(location.href), throw: true })
    },
    // Runs before the pages read, because the events report all later changes.
    loader: ({ context: { queries: store } }) =>
      Promise.all([
        store.query({ ...meQuery, staleTime: 'static' }),
        store.query({ ...liveCursorQuery, staleTime: 'static' }),
      ]),
  })
  const page = <Path extends string>(path: Path, component: View) =>
    createRoute({ getParentRoute: () => session, path, component, validateSearch: textsOf })
  const box = page('/boxes/$project/$name', VIEWS.BoxPage)
  const ofBox = <Path extends string>(path: Path, component: View) =>
    createRoute({ getParentRoute: () => box, path, component, validateSearch: textsOf, ...OF_PART })
  const pages = [
    page('/', VIEWS.Overview),
    page('/boxes', VIEWS.BoxesPage),
    box.addChildren([
      ofBox('/', VIEWS.BoxFigures),
      ofBox('/terminal', VIEWS.Terminals),
      ...BOX_PARTS.map(([path, component]) => ofBox(path, component)),
      ofBox('/connect', VIEWS.Connect),
      ofBox('$', MissingPart),
    ]),
    page('/volumes', VIEWS.VolumesPage),
    page('/volumes/$project/$name', VIEWS.VolumePage),
    page('/activity', VIEWS.EventsPage),
    page('/bases', VIEWS.BasesPage),
    page('/projects', VIEWS.ProjectsPage),
    page('/storage', VIEWS.StoragePage),
    page('/tokens', VIEWS.TokensPage),
    page('/audit', VIEWS.AuditPage),
    page('/settings', VIEWS.SettingsPage),
    page('$', Missing),
  ]
  const router = createRouter({
    routeTree: root.addChildren([signIn, session.addChildren(pages)]),
    context: { queries },
    defaultPreload: 'intent',
    // A page of another box or volume is another page. Actions on the first, including undo, stay with the first.
    defaultRemountDeps: ({ params }) => params,
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: Failure,
    scrollRestoration: true,
    parseSearch: readQuery,
    stringifySearch: queryText,
  })
  landOnPages(router)
  return router
}

/** Returns the query of a sign-in that leads to a page. Empty for the overview. */
function pageAfter(given: unknown): { to?: string } {
  const to = ownPath(given)
  return to === '/' ? {} : { to }
}

/** Keeps the texts of the query, which are filters and views, so that every state of a page has a link. */
function textsOf(search: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

/** Reads the query of an address as texts: `?status=409`, not `?status=%22409%22`, and `?q=1.0` stays unchanged. */
function readQuery(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query))
}

/** Returns the query of an address with its `?`, or an empty text without parts. */
function queryText(search: Record<string, unknown>): string {
  const text = new URLSearchParams(textsOf(search)).toString()
  return text === '' ? '' : `?${text}`
}

type View = ReturnType<typeof lazyPage> | typeof Missing

/** Replaces a part of a box that fails or is loading. The frame stays. */
const OF_PART = { errorComponent: PartFailure, pendingComponent: Loading }

/** The views of the pages. */
const VIEWS = {
  BoxPage: lazyPage(() => import('./pages/box/box.tsx'), 'BoxPage'),
  Overview: lazyPage(() => import('./pages/overview.tsx'), 'Overview'),
  BoxesPage: lazyPage(() => import('./pages/boxes/boxes.tsx'), 'BoxesPage'),
  BoxFigures: lazyPage(() => import('./pages/box/figures.tsx'), 'BoxFigures'),
  Terminals: lazyPage(() => import('./pages/box/terminals.tsx'), 'Terminals'),
  Connect: lazyPage(() => import('./pages/box/connect.tsx'), 'Connect'),
  VolumesPage: lazyPage(() => import('./pages/volumes/volumes.tsx'), 'VolumesPage'),
  VolumePage: lazyPage(() => import('./pages/volumes/volume.tsx'), 'VolumePage'),
  EventsPage: lazyPage(() => import('./pages/events.tsx'), 'EventsPage'),
  TokensPage: lazyPage(() => import('./pages/tokens/tokens.tsx'), 'TokensPage'),
  StoragePage: lazyPage(() => import('./pages/storage/storage.tsx'), 'StoragePage'),
  BasesPage: lazyPage(() => import('./pages/bases/bases.tsx'), 'BasesPage'),
  AuditPage: lazyPage(() => import('./pages/audit/audit.tsx'), 'AuditPage'),
  SettingsPage: lazyPage(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
  ProjectsPage: lazyPage(() => import('./pages/projects/projects.tsx'), 'ProjectsPage'),
}
