import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { Menu, Moon, Search, Sun, SunMoon } from 'lucide-react'
import { Suspense, useEffect, useState } from 'react'
import { meQuery } from '../api/queries.ts'
import { Toasts } from '../ui/toasts.tsx'
import { LiveProvider, useLive } from './live-provider.tsx'
import { loadPagesWhenIdle } from './page-files.ts'
import { Palette } from './palette.tsx'
import { PendingPage, ProgressLine } from './pending-page.tsx'
import { PLACES } from './places.ts'
import { useRights } from './rights.ts'
import { SignOut } from './sign-out.tsx'
import { chooseTheme, chosenTheme, type Theme } from './theme.ts'

/** The frame of all pages of a session: navigation, palette, what happens now. */
export function Layout() {
  const { canRead } = useRights()
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useEffect(loadPagesWhenIdle, [])
  return (
    <LiveProvider isOn={canRead}>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-3">
        Skip to the content
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
  const rights = useRights()
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
            aria-label="Go to (Ctrl-K)"
            title="Go to (Ctrl-K)"
            className="rounded p-2 hover:bg-raised"
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
      <nav
        aria-label="Pages"
        className={`flex-1 flex-col gap-0.5 overflow-y-auto p-2 md:flex ${isOpen ? 'flex' : 'hidden'}`}
      >
        {PLACES.filter((place) => place.isFor(rights)).map(({ to, name, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/' }}
            activeProps={{ className: 'bg-accent-soft font-medium', 'aria-current': 'page' }}
            className="flex items-center gap-2.5 rounded-md px-2.5 py-1.5 hover:bg-raised"
            onClick={() => setOpen(false)}
          >
            <Icon aria-hidden className="size-4 text-muted" />
            {name}
          </Link>
        ))}
      </nav>
      <div className={`border-t border-line p-2 md:block ${isOpen ? 'block' : 'hidden'}`}>
        <SessionMenu />
      </div>
    </header>
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
            ? 'Changes are asked for every ten seconds: this front carries no streams'
            : 'Whether changes are shown as they happen'
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
    </div>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(chosenTheme)
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
        setTheme(next)
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
