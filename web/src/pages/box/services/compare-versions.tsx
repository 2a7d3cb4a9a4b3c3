import { useLayoutEffect, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/page.tsx'

interface CompareVersionsProps {
  activeUrl: string
  previewUrl: string
  /** Whether anybody may open them: a page of another site is not sent the cookie of a sign-in. */
  isPublic: boolean
}

/** What serves and its preview, side by side where the browser may show them here, else in tabs of their own. */
export function CompareVersions({ activeUrl, previewUrl, isPublic }: CompareVersionsProps) {
  const [reloads, setReloads] = useState(0)
  // Pages of boxes run nothing here before they are asked for, and never at an origin that is the console's own.
  const [isAsked, setAsked] = useState(false)
  const isRefused = useFramesRefused()
  const versions = [
    { name: 'active', url: activeUrl },
    { name: 'preview', url: previewUrl },
  ]
  return (
    <Panel
      title="Active and preview"
      actions={
        <span className="flex flex-wrap gap-2">
          {isPublic && !isRefused && (
            <Button onClick={() => (isAsked ? setReloads(reloads + 1) : setAsked(true))}>
              {isAsked ? 'Load both anew' : 'Show both here'}
            </Button>
          )}
          <Button onClick={() => versions.forEach(({ url }) => window.open(url, '_blank', 'noreferrer'))}>
            Open both
          </Button>
        </span>
      }
    >
      {!isPublic && (
        <p className="text-muted">
          Its URLs are for bearers of a token: each is opened in a tab of its own, where one signs in. Published for
          anybody, they can be shown here side by side.
        </p>
      )}
      {isPublic && isRefused && (
        <p className="text-muted">
          This console may not show pages of boxes in itself: open them in tabs of their own.
        </p>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        {versions.map(({ name, url }) => (
          <div key={name} className="min-w-0">
            <p className="my-2 flex flex-wrap gap-x-2">
              <span className="font-medium">{name}</span>
              <a href={url} target="_blank" rel="noreferrer" className="break-all underline">
                {url}
              </a>
            </p>
            {isPublic && isAsked && !isRefused && new URL(url).origin !== location.origin && (
              <iframe
                key={reloads}
                title={`The ${name} version`}
                src={url}
                sandbox="allow-scripts allow-forms allow-same-origin"
                referrerPolicy="no-referrer"
                className="h-96 w-full rounded-md border border-line bg-white"
              />
            )}
          </div>
        ))}
      </div>
    </Panel>
  )
}

/** Returns true once the policy of this page has refused a frame. */
function useFramesRefused(): boolean {
  const [isRefused, setRefused] = useState(false)
  // Before the first frame is asked for.
  useLayoutEffect(() => {
    const take = ({ effectiveDirective }: SecurityPolicyViolationEvent): void => {
      if (effectiveDirective === 'frame-src') setRefused(true)
    }
    document.addEventListener('securitypolicyviolation', take)
    return () => document.removeEventListener('securitypolicyviolation', take)
  }, [])
  return isRefused
}
