import { useLayoutEffect, useState } from 'react'
import { webAddress } from '../../../api/own-path.ts'
import type { Box } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/page.tsx'
import { BoxUrl } from '../box-url.tsx'
import { accessOf, usePublish } from '../use-publish.ts'

interface CompareVersionsProps {
  box: Box
  activeUrl: string
  previewUrl: string
}

/** The active version and its preview, side by side if the browser allows their frames here, otherwise in separate tabs. */
export function CompareVersions({ box, activeUrl, previewUrl }: CompareVersionsProps) {
  const [reloads, setReloads] = useState(0)
  // Pages of boxes run nothing here until the user asks for it, and never at the console's own origin.
  const [isAsked, setAsked] = useState(false)
  // A frame gets no cookie of a sign-in at its site, and an HTTPS page cannot hold a plain HTTP frame.
  const isPublic = box.url_settings.auth === 'public'
  const isRefused = useFramesRefused() || (location.protocol === 'https:' && activeUrl.startsWith('http:'))
  const isShown = isPublic && isAsked && !isRefused
  const versions = [
    { name: 'active', url: activeUrl, address: framedAddress(activeUrl) },
    { name: 'preview', url: previewUrl, address: framedAddress(previewUrl) },
  ]
  return (
    <Panel
      title="Active and preview"
      actions={
        isPublic &&
        !isRefused && (
          <Button onClick={() => (isAsked ? setReloads(reloads + 1) : setAsked(true))}>
            {isAsked ? 'Reload both' : 'Show both here'}
          </Button>
        )
      }
    >
      {!isPublic && <PrivateNote box={box} />}
      {isPublic && isRefused && (
        <p className="text-muted">This console cannot embed pages of boxes. Open each one in its own tab.</p>
      )}
      {isShown && (
        <p className="text-muted">If a page stays empty, it does not allow embedding. Open it in its own tab.</p>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        {versions.map(({ name, url, address }) => (
          <div key={name} className="min-w-0">
            <p className="my-2 flex flex-wrap gap-x-2">
              <span className="font-medium">{name}</span>
              <BoxUrl box={box} url={url} className="break-all underline">
                {url}
              </BoxUrl>
            </p>
            {isShown && address !== undefined && (
              <iframe
                key={reloads}
                title={`The ${name} version`}
                src={address}
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

/** Returns the address to show in a frame, or undefined if it is not HTTP or HTTPS, or would have the rights of this page. */
function framedAddress(url: string): string | undefined {
  const address = webAddress(url)
  return address === null || new URL(address).origin === location.origin ? undefined : address
}

/** Explains why nothing is shown side by side, and the remedy. */
function PrivateNote({ box }: { box: Box }) {
  const { canWrite } = useRights()
  const publish = usePublish(box)
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
      <p className="min-w-0 flex-1 basis-72 text-muted">
        The URLs of {box.name} are private, and browsers do not embed private pages. Open each one in its own tab, or
        make the URLs public to see both here.{!canWrite && ' That needs a token with write permission.'}
      </p>
      {canWrite && (
        <Button disabled={publish.isPending} onClick={() => publish.mutate({ ...accessOf(box), auth: 'public' })}>
          Make public
        </Button>
      )}
    </div>
  )
}

/** Returns true once the policy of this page has refused a frame. */
function useFramesRefused(): boolean {
  const [isRefused, setRefused] = useState(false)
  // Runs before the first frame is requested.
  useLayoutEffect(() => {
    const take = ({ effectiveDirective }: SecurityPolicyViolationEvent): void => {
      if (effectiveDirective === 'frame-src') setRefused(true)
    }
    document.addEventListener('securitypolicyviolation', take)
    return () => document.removeEventListener('securitypolicyviolation', take)
  }, [])
  return isRefused
}
