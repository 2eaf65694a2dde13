"""All private names of the package that the tests of maps use."""

from neuroextrap.maps import _transaction
from neuroextrap.maps._files import (
    check_output_directory,
    describe_map,
    read_maps,
    write_maps,
)
from neuroextrap.maps._provenance import (
    Origin,
    SourceFile,
    describe_dataset,
    describe_file,
    described_value,
    file_entities,
    file_hash,
    provenance,
    relative_words,
    shared_entities,
)
from neuroextrap.maps._records import MapRecord, changed_parameters
from neuroextrap.maps._registry import GROUP_MAPS, MAPS, record_of
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import STAGING, finish_interrupted, replaced_results
from neuroextrap.margins.running import _checkpoint
from neuroextrap.margins.running._checkpoint import array_hash
from neuroextrap.reporting._identification_page import (
    identification_sections,
    validity_notes,
)
from neuroextrap.reporting._maps_section import decide, page_maps
from neuroextrap.reporting._viewer import viewer_data
