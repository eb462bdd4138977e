"""What is around every campaign of this deployment."""

from gna.config import Settings
from gna.mail.render import Frame
from gna.subscribers.signup import Site


def frame_of(settings: Settings) -> Frame:
    """The publication's name, address, language and template; a template that cannot be used stops the start."""
    site = Site.of(settings)
    return Frame.load(site=site.name, base_url=site.base_url, language=site.language, file=settings.campaign_template)
