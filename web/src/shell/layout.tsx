import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { Menu, Moon, Search, Sun, SunMoon } from 'lucide-react'
import { Suspense, useEffect, useState } from 'react'
import { meQuery, versionQuery } from '../api/queries.ts'
import { Toasts } from '../ui/toasts.tsx'
import { LiveProvider, useLive } from './live-provider.tsx'
import { loadPagesWhenIdle } from './page-files.ts'
import { Palette } from './palette.tsx'
import { PendingPage, ProgressLine } from './pending-page.tsx'
import { type NavigationEntry, PLACE_GROUPS, PLACES } from './places.ts'
import { hasProjectFilter, ProjectSwitcher, useShownProject } from './project-switcher.tsx'
import { useRights } from './rights.ts'
import { ShortcutsButton } from './shortcuts.tsx'
import { SignOut } from './sign-out.tsx'
import { chooseTheme, type Theme, useChosenTheme } from './theme.ts'

/** The frame of all pages of a session: navigation, palette, and live updates. */
export function Layout() {
  const { canRead } = useRights()
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useEffect(loadPagesWhenIdle, [])
  return (
    <LiveProvider isOn={canRead}>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-3">
        Skip to content
      </a>
      <ProgressLine />
      <div className="flex min-h-dvh flex-col md:flex-row">
        <Sidebar openPalette={() => setPaletteOpen(true)} />
        <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
          <Suspense fallback={<PendingPage />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Palette isOpen={isPaletteOpen} setOpen={setPaletteOpen} />
      <Toasts />
    </LiveProvider>
  )
}

function Sidebar({ openPalette }: { openPalette(): void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <header className="flex shrink-0 flex-col border-line bg-panel max-md:border-b md:sticky md:top-0 md:h-dvh md:w-56 md:border-r">
      <div className="flex items-center justify-between p-3">
        <Link to="/" className="flex items-center gap-2 text-base font-semibold">
          <img src="/icon.svg" alt="" className="size-6" />
          Boxyard
        </Link>
        <div className="flex gap-1">
          <button
            type="button"
            aria-label="Search"
            className="rounded p-2 hover:bg-raised md:hidden"
            onClick={openPalette}
          >
            <Search aria-hidden className="size-4" />
          </button>
          <button
            type="button"
            aria-label="Menu"
            aria-expanded={isOpen}
            className="rounded p-2 hover:bg-raised md:hidden"
            onClick={() => setOpen(!isOpen)}
          >
            <Menu aria-hidden className="size-4" />
          </button>
        </div>
      </div>
      <button
        type="button"
        aria-keyshortcuts="Control+K"
        className="mx-2 mb-1 flex items-center gap-2 rounded-md border border-line bg-bg px-2.5 py-1.5 text-muted hover:border-strong max-md:hidden"
        onClick={openPalette}
      >
        <Search aria-hidden className="size-4" />
        Search
        <kbd className="ml-auto font-sans text-xs">Ctrl K</kbd>
      </button>
      <nav
        aria-label="Pages"
        className={`flex-1 flex-col gap-0.5 overflow-y-auto p-2 md:flex ${isOpen ? 'flex' : 'hidden'}`}
      >
        <ProjectSwitcher onSwitch={() => setOpen(false)} />
        {PLACE_GROUPS.map((group) => (
          <PlaceGroup key={group} group={group} onOpen={() => setOpen(false)} />
        ))}
      </nav>
      <div className={`border-t border-line p-2 md:block ${isOpen ? 'block' : 'hidden'}`}>
        <SessionMenu />
      </div>
    </header>
  )
}

/** The pages of a group that the session can see. */
function PlaceGroup({ group, onOpen }: { group: NavigationEntry['group']; onOpen(): void }) {
  const rights = useRights()
  const project = useShownProject()
  const shown = PLACES.filter((place) => place.group === group && place.isFor(rights))
  if (shown.length === 0) return null
  return (
    <div className="flex flex-col gap-0.5 border-line not-first:mt-2 not-first:border-t not-first:pt-2">
      {shown.map(({ to, name, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          search={project !== '' && hasProjectFilter(to) ? { project } : {}}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          activeProps={{ className: 'bg-accent-soft font-medium', 'aria-current': 'page' }}
          className="flex items-center gap-2.5 rounded-md px-2.5 py-1.5 hover:bg-raised"
          onClick={onOpen}
        >
          <Icon aria-hidden className="size-4 text-muted" />
          {name}
        </Link>
      ))}
    </div>
  )
}

function SessionMenu() {
  const { data: me } = useSuspenseQuery(meQuery)
  const { isOpen, isPolled } = useLive()
  return (
    <div className="flex flex-col gap-2 px-1 text-xs">
      <p
        className="flex items-center gap-1.5 text-muted"
        title={
          isPolled
            ? 'Updates every ten seconds, because this front has no streams'
            : 'Whether the page updates as things change'
        }
      >
        <span aria-hidden className={`dot size-2 rounded-full ${isOpen ? 'bg-good' : 'bg-warn'}`} />
        {isOpen ? (isPolled ? 'Every ten seconds' : 'Live') : 'Connecting'}
      </p>
      <p className="truncate" title={me.name}>
        {me.name}
      </p>
      <div className="flex items-center justify-between">
        <ThemeButton />
        <SignOut />
      </div>
      <Footer />
    </div>
  )
}

/** Shows the version and links. */
function Footer() {
  const { data: version } = useQuery(versionQuery)
  return (
    <p className="flex flex-wrap items-center gap-x-2 border-t border-line pt-2 text-muted">
      <a href="/openapi.json" target="_blank" rel="noreferrer" className={FOOT_LINK}>
        API
      </a>
      <a href="/problems" target="_blank" rel="noreferrer" className={FOOT_LINK}>
        Errors
      </a>
      <ShortcutsButton className={FOOT_LINK} />
      {version && <span className="ml-auto">v{version.version}</span>}
    </p>
  )
}

function ThemeButton() {
  const theme = useChosenTheme()
  const { icon: Icon, next } = THEMES[theme]
  const label = `Theme: ${theme}`
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className="rounded p-1.5 hover:bg-raised"
      onClick={() => {
        chooseTheme(next)
      }}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  )
}

const THEMES: Record<Theme, { icon: typeof Sun; next: Theme }> = {
  system: { icon: SunMoon, next: 'light' },
  light: { icon: Sun, next: 'dark' },
  dark: { icon: Moon, next: 'system' },
}

const FOOT_LINK = 'inline-flex min-h-6 items-center hover:underline'
