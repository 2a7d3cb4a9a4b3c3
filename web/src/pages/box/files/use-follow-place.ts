import { useNavigate, useRouter } from '@tanstack/react-router'
import type { Ref } from '../../../api/records.ts'
import { type FilePlace, placeOf, placeSearch } from './place.ts'

interface ShownLocation {
  pathname: string
  search: { path?: string; path64?: string }
}

/** Returns a function that shows another path of the box if the given one is gone but still on screen. */
export function useFollowPlace({ project, name }: Ref): (from: FilePlace, to: FilePlace) => void {
  const router = useRouter()
  const navigate = useNavigate()
  return (from, to) => {
    const { pathname, search } = router.state.location as ShownLocation
    const shown = placeOf(search)
    if (pathname !== `/boxes/${project}/${name}/files` || shown.text !== from.text || shown.base64 !== from.base64)
      return
    void navigate({
      to: '/boxes/$project/$name/files',
      params: { project, name },
      search: placeSearch(to),
      replace: true,
    })
  }
}
