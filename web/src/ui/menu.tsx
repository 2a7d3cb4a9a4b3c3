import { Ellipsis } from 'lucide-react'
import { DropdownMenu as Radix } from 'radix-ui'
import { type ReactNode, useRef } from 'react'
import { buttonStyle } from './button.tsx'

/** An entry of a menu: an action, or a link, which is drawn unchanged. */
export type MenuItem = { key: string; isDanger?: boolean } & ({ words: string; act(): void } | { link: ReactNode })

/** Less common actions, behind a button. Keys also open it and move through it. The focus returns to the button. */
export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const button = useRef<HTMLButtonElement>(null)
  const chosen = useRef<(() => void) | null>(null)
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger ref={button} aria-label={label} title={label} className={`${buttonStyle()} px-2!`}>
        <Ellipsis aria-hidden className="size-4" />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          className="z-40 flex max-w-[calc(100vw-1rem)] min-w-44 flex-col rounded-md border border-line bg-panel p-1 shadow-lg"
          onCloseAutoFocus={(event) => {
            const act = chosen.current
            chosen.current = null
            if (act === null) return
            // A dialog that it opens returns the focus to the earlier element.
            event.preventDefault()
            button.current?.focus()
            act()
          }}
        >
          {items.map((item) =>
            'link' in item ? (
              <Radix.Item key={item.key} asChild className={styleOf(item)}>
                {item.link}
              </Radix.Item>
            ) : (
              <Radix.Item
                key={item.key}
                className={styleOf(item)}
                onSelect={() => {
                  chosen.current = item.act
                }}
              >
                {item.words}
              </Radix.Item>
            ),
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function styleOf({ isDanger = false }: MenuItem): string {
  return `cursor-pointer rounded px-3 py-1.5 text-sm break-words outline-none data-highlighted:bg-raised ${isDanger ? 'text-bad' : ''}`
}
